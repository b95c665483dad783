-- The form of the code that an attempt waits for, such as `digits:6`. Null: any form; the
-- twin of the Postgres file.
ALTER TABLE attempts ADD COLUMN expected TEXT;
