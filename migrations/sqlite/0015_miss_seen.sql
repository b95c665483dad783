-- What a rule of an attempt refused: the domain of the sender. It is bounded, and it is
-- shown to the agent only as far as an item would show it; the twin of the Postgres file.
ALTER TABLE attempts ADD COLUMN miss_seen TEXT;
