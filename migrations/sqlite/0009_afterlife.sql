-- What is left of things after their use: which request a consume answered, what a
-- message that was forgotten is still known by, and inboxes that nobody made.

-- Which request it was: for the `attempt`, for the `artifact`, or none, the
-- `callback`. The same idempotency key on another way is another request. Nothing
-- for consumes from before this column.
ALTER TABLE consumes ADD COLUMN way TEXT CHECK (way IN ('attempt', 'artifact', 'callback'));

-- When its items went. The row stays for a while as the keys it is known by, or a
-- late copy of the same mail would be a new message.
ALTER TABLE messages ADD COLUMN purged_at INTEGER;
CREATE INDEX messages_purged ON messages (received_at) WHERE purged_at IS NOT NULL;

-- Whether a first mail or an attempt made it: such an inbox goes when nothing is
-- left of it, while one that was asked for stays.
ALTER TABLE inboxes ADD COLUMN is_passing INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inboxes_passing ON inboxes (created_at) WHERE is_passing;

CREATE INDEX attempts_inbox ON attempts (inbox);
CREATE INDEX resends_attempt ON resends (attempt_id);
CREATE INDEX callbacks_finished ON callbacks (finished_at) WHERE state <> 'pending';
