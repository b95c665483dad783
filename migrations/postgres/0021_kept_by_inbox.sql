-- The messages of each inbox whose items are still kept, oldest first. The janitor looks for those
-- of inboxes with a retention time of their own all the time, and behind an index of all messages
-- it would pass every message that it purged.
CREATE INDEX messages_kept_by_inbox ON messages (inbox, received_at) WHERE purged_at IS NULL;
