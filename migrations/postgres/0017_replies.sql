-- Replies: what is kept of a message so that it can be answered, and the threads in which
-- replies are counted.

-- Rules for the mail of one inbox: a JSON array, in order.
ALTER TABLE inboxes ADD COLUMN inbound_rules text;

-- What rules did with a message, and what a reply to it needs. Only messages have a row
-- to which a rule applied, or which could be answered.
CREATE TABLE handlings (
    message_id      uuid        PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    inbox           text        NOT NULL,
    -- Words such as `built_in.own_echo:drop`, separated by spaces.
    rules           text        NOT NULL,
    -- Why it is not answered.
    no_reply        text,
    thread          uuid,
    -- A keyed digest of the inbox and the person who wrote.
    person          bytea       CHECK (octet_length(person) = 16),
    -- The sender's address, the subject and the ids that a reply repeats, sealed.
    content         bytea,
    content_key     text,
    CHECK ((thread IS NULL) = (person IS NULL)),
    CHECK ((content IS NULL) = (content_key IS NULL))
);

-- Sealed bytes do not compress.
ALTER TABLE handlings ALTER COLUMN content SET STORAGE EXTERNAL;

-- One row is one thread in which a reply was recorded, or in which mail was written in our
-- name. It is locked while a reply is recorded, and no longer.
CREATE TABLE threads (
    id              uuid        PRIMARY KEY,
    inbox           text        NOT NULL,
    person          bytea       NOT NULL CHECK (octet_length(person) = 16),
    state           text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'handed_over')),
    reason          text,
    -- The message whose reply was one too many.
    message_id      uuid,
    -- When the last mail of ours was recorded or received.
    last_ours       timestamptz,
    handed_over_at  timestamptz,
    released_at     timestamptz,
    released_by     text,
    -- The configured callback that is posted, and from when it may be posted.
    callback        text,
    callback_due_at timestamptz,
    callback_tries  integer     NOT NULL DEFAULT 0,
    callback_token  uuid,
    created_at      timestamptz NOT NULL,
    CHECK (state <> 'handed_over' OR handed_over_at IS NOT NULL)
);

CREATE INDEX threads_person ON threads (person);
CREATE INDEX threads_handed_over ON threads (handed_over_at) WHERE state = 'handed_over';
CREATE INDEX threads_callback ON threads (callback_due_at) WHERE callback_due_at IS NOT NULL;
CREATE INDEX threads_created ON threads (created_at);

-- The message that a send answers. A message has one reply, for all callers.
ALTER TABLE sends ADD COLUMN reply_to uuid;
ALTER TABLE sends ADD COLUMN thread uuid;
CREATE UNIQUE INDEX sends_reply_to ON sends (reply_to) WHERE reply_to IS NOT NULL;
CREATE INDEX sends_thread ON sends (thread, created_at) WHERE thread IS NOT NULL;
-- By these a copy of our own mail is recognised.
CREATE INDEX sends_message_id ON sends (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX sends_receipt ON sends (receipt) WHERE receipt IS NOT NULL;

CREATE TRIGGER handlings_retired_key BEFORE INSERT OR UPDATE OF content_key ON handlings
    FOR EACH ROW WHEN (NEW.content_key IS NOT NULL) EXECUTE FUNCTION refuse_retired_send_key();
