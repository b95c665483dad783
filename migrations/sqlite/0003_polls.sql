-- Polling: mail that is asked for because its webhook may have failed; the twin
-- of the Postgres file.

-- One row is one delivery that polling has found. A table of its own: a post,
-- which is the usual way, pays nothing for it.
CREATE TABLE polled (
    delivery_id     BLOB    PRIMARY KEY NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    -- When the source says the mail arrived; the lifetime of its code runs from here.
    arrived_at      INTEGER
) STRICT;

-- Which path told of a message first, and when the other one did.
ALTER TABLE messages ADD COLUMN path TEXT NOT NULL DEFAULT 'push'
    CHECK (path IN ('push', 'poll'));
ALTER TABLE messages ADD COLUMN other_path_at INTEGER;

-- One row is one source as pollers see it.
CREATE TABLE polls (
    source      TEXT    PRIMARY KEY NOT NULL,
    -- Who asks it, until when, and the fence: a new holder has a new number.
    holder      BLOB,
    fence       INTEGER NOT NULL DEFAULT 0,
    expires_at  INTEGER,
    -- How far it was read; empty when it never was.
    cursor      TEXT    NOT NULL DEFAULT '',
    -- When a round last ended well, and why the last one did not.
    polled_at   INTEGER,
    failure     TEXT,
    -- Its posts: how many, when the last one came, up to where they were
    -- counted, and the longest it is usually quiet.
    posts       INTEGER NOT NULL DEFAULT 0,
    heard_at    INTEGER,
    heard_id    BLOB,
    habit_ms    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Who is still waited for; what ended unheard of is behind its deadline.
CREATE INDEX attempts_awaited ON attempts (deadline) WHERE outcome IS NULL;
