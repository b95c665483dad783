-- When a delivery was claimed for the first time since it was recorded or requeued. Its retries end
-- a time after this: a delivery that waited for a worker, or for the operator, has its retries. The
-- twin of the Postgres file.
ALTER TABLE deliveries ADD COLUMN tried_since INTEGER;
