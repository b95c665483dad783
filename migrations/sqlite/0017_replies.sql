-- Replies: what is kept of a message so that it can be answered, and the threads in which
-- replies are counted; the twin of the Postgres file.

-- Rules for the mail of one inbox: a JSON array, in order.
ALTER TABLE inboxes ADD COLUMN inbound_rules TEXT;

-- What rules did with a message, and what a reply to it needs. Only messages have a row
-- to which a rule applied, or which could be answered.
CREATE TABLE handlings (
    message_id      BLOB    PRIMARY KEY NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    inbox           TEXT    NOT NULL,
    -- Words such as `built_in.own_echo:drop`, separated by spaces.
    rules           TEXT    NOT NULL,
    -- Why it is not answered.
    no_reply        TEXT,
    thread          BLOB    CHECK (length(thread) = 16),
    -- A keyed digest of the inbox and the person who wrote.
    person          BLOB    CHECK (length(person) = 16),
    -- The sender's address, the subject and the ids that a reply repeats, sealed.
    content         BLOB,
    content_key     TEXT,
    CHECK ((thread IS NULL) = (person IS NULL)),
    CHECK ((content IS NULL) = (content_key IS NULL))
) STRICT;

-- One row is one thread in which a reply was recorded, or in which mail was written in our
-- name. It is locked while a reply is recorded, and no longer.
CREATE TABLE threads (
    id              BLOB    PRIMARY KEY NOT NULL CHECK (length(id) = 16),
    inbox           TEXT    NOT NULL,
    person          BLOB    NOT NULL CHECK (length(person) = 16),
    state           TEXT    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'handed_over')),
    reason          TEXT,
    -- The message whose reply was one too many.
    message_id      BLOB,
    -- When the last mail of ours was recorded or received.
    last_ours       INTEGER,
    handed_over_at  INTEGER,
    released_at     INTEGER,
    released_by     TEXT,
    -- The configured callback that is posted, and from when it may be posted.
    callback        TEXT,
    callback_due_at INTEGER,
    callback_tries  INTEGER NOT NULL DEFAULT 0,
    callback_token  BLOB,
    created_at      INTEGER NOT NULL,
    CHECK (state <> 'handed_over' OR handed_over_at IS NOT NULL)
) STRICT;

CREATE INDEX threads_person ON threads (person);
CREATE INDEX threads_handed_over ON threads (handed_over_at) WHERE state = 'handed_over';
CREATE INDEX threads_callback ON threads (callback_due_at) WHERE callback_due_at IS NOT NULL;
CREATE INDEX threads_created ON threads (created_at);

-- The message that a send answers. A message has one reply, for all callers.
ALTER TABLE sends ADD COLUMN reply_to BLOB;
ALTER TABLE sends ADD COLUMN thread BLOB;
CREATE UNIQUE INDEX sends_reply_to ON sends (reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX sends_thread ON sends (thread, created_at) WHERE thread IS NOT NULL;
-- By these a copy of our own mail is recognised.
CREATE INDEX sends_message_id ON sends (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX sends_receipt ON sends (receipt) WHERE receipt IS NOT NULL;

CREATE TRIGGER handlings_retired_key BEFORE INSERT ON handlings
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.content_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
CREATE TRIGGER handlings_retired_rekey BEFORE UPDATE OF content_key ON handlings
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.content_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
