-- What is kept for how long.

-- Up to here items were discarded: a cursor from before has missed some.
ALTER TABLE inboxes ADD COLUMN purged_seq bigint NOT NULL DEFAULT 0;

-- What is still to be wiped or discarded, each oldest first. The first two shrink
-- by themselves: what was wiped is no longer in them.
CREATE INDEX artifacts_values ON artifacts (expires_at) WHERE value IS NOT NULL;
CREATE INDEX deliveries_bodies ON deliveries (finished_at)
    WHERE body IS NOT NULL AND state IN ('done', 'buried');
CREATE INDEX deliveries_finished ON deliveries (finished_at)
    WHERE body IS NULL AND state IN ('done', 'buried');
CREATE INDEX messages_received ON messages (received_at);
CREATE INDEX messages_inbox ON messages (inbox, received_at);
CREATE INDEX inboxes_retention ON inboxes (inbox) WHERE retention_ms IS NOT NULL;
CREATE INDEX consumes_consumed ON consumes (consumed_at);
