-- Polling: mail that is asked for because its webhook may have failed.

-- One row is one delivery that polling has found. A table of its own: a post,
-- which is the usual way, pays nothing for it.
CREATE TABLE polled (
    delivery_id     uuid        PRIMARY KEY REFERENCES deliveries (id) ON DELETE CASCADE,
    -- When the source says the mail arrived; the lifetime of its code runs from here.
    arrived_at      timestamptz
);

-- Which path told of a message first, and when the other one did.
ALTER TABLE messages ADD COLUMN path text NOT NULL DEFAULT 'push'
    CHECK (path IN ('push', 'poll'));
ALTER TABLE messages ADD COLUMN other_path_at timestamptz;

-- One row is one source as pollers see it.
CREATE TABLE polls (
    source      text        PRIMARY KEY,
    -- Who asks it, until when, and the fence: a new holder has a new number.
    holder      uuid,
    fence       bigint      NOT NULL DEFAULT 0,
    expires_at  timestamptz,
    -- How far it was read; empty when it never was.
    cursor      text        NOT NULL DEFAULT '',
    -- When a round last ended well, and why the last one did not.
    polled_at   timestamptz,
    failure     text,
    -- Its posts: how many, when the last one came, up to where they were
    -- counted, and the longest it is usually quiet.
    posts       bigint      NOT NULL DEFAULT 0,
    heard_at    timestamptz,
    heard_id    uuid,
    habit_ms    bigint      NOT NULL DEFAULT 0
);

-- Who is still waited for; what ended unheard of is behind its deadline.
CREATE INDEX attempts_awaited ON attempts (deadline) WHERE outcome IS NULL;
