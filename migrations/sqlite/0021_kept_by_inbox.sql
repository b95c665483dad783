-- The messages of each inbox whose items are still kept, oldest first; the twin of the Postgres
-- file.
CREATE INDEX messages_kept_by_inbox ON messages (inbox, received_at) WHERE purged_at IS NULL;
