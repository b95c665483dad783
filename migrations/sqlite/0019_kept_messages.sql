-- The messages whose items are still kept, oldest first; the twin of the Postgres file.
-- This version does not read `messages_received`; a later one drops it.
CREATE INDEX messages_kept ON messages (received_at) WHERE purged_at IS NULL;
