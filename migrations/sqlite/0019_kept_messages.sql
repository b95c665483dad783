-- The messages whose items are still kept, oldest first; the twin of the Postgres file.
-- `messages_received` has no reader any more.
CREATE INDEX messages_kept ON messages (received_at) WHERE purged_at IS NULL;
