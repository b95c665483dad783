-- The form of the code that an attempt waits for, such as `digits:6`. Null: any form.
ALTER TABLE attempts ADD COLUMN expected text;
