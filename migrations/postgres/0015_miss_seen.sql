-- What a rule of an attempt refused: the domain of the sender. It is bounded, and it is
-- shown to the agent only as far as an item would show it.
ALTER TABLE attempts ADD COLUMN miss_seen text;
