-- When a delivery was claimed for the first time since it was recorded or requeued. Its retries end
-- a time after this: a delivery that waited for a worker, or for the operator, has its retries.
ALTER TABLE deliveries ADD COLUMN tried_since timestamptz;
