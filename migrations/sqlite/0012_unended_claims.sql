-- How many claims in a row their worker did not end: it died, or it could not reach the
-- database until its lease had expired. Such a delivery is read alone, so that a crash
-- is blamed on the mail that caused it.
ALTER TABLE deliveries ADD COLUMN unended_claims INTEGER NOT NULL DEFAULT 0;
