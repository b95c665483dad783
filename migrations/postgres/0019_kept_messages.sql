-- The messages whose items are still kept, oldest first. The janitor looks for the first of them
-- all the time, and behind an index of all messages it would pass those that it purged.
-- This version does not read `messages_received`; a later one drops it.
CREATE INDEX messages_kept ON messages (received_at) WHERE purged_at IS NULL;
