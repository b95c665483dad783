-- One row is one action with one intent: a mail that is sent here, or a guard of an
-- action elsewhere; the twin of the Postgres file.
CREATE TABLE sends (
    id                  BLOB    PRIMARY KEY NOT NULL,
    kind                TEXT    NOT NULL CHECK (kind IN ('send', 'guard')),
    -- The configured name; intents are unique for each.
    sender              TEXT    NOT NULL,
    -- `mail`, or another word for a guard.
    action              TEXT    NOT NULL,
    intent_key          BLOB    NOT NULL CHECK (length(intent_key) = 16),
    -- What the provider recognises a repetition by. It is kept here, so that another
    -- server secret does not change it.
    provider_key        BLOB    NOT NULL CHECK (length(provider_key) = 32),
    -- What the intent is about; not there for an intent that is named by a key.
    intent_type         TEXT,
    entity              TEXT,
    version             INTEGER,
    -- A digest of the rendered mail.
    fingerprint         BLOB    CHECK (length(fingerprint) = 32),
    provider            TEXT,
    message_id          TEXT,
    -- The recipient and the rendered request to the provider, sealed.
    content             BLOB,
    content_key         TEXT,
    state               TEXT    NOT NULL
                        CHECK (state IN ('held', 'ready', 'claimed', 'dispatched', 'sent',
                                         'failed', 'cancelled', 'uncertain')),
    tries               INTEGER NOT NULL DEFAULT 0,
    settle_tries        INTEGER NOT NULL DEFAULT 0,
    -- The fence: whoever writes a result must still hold this.
    claim_token         BLOB,
    lease_until         INTEGER,
    -- The request that holds a guard, if it had an idempotency key.
    asked               BLOB    CHECK (length(asked) = 16),
    -- From when it may be claimed. Held: until when it may be approved.
    due_at              INTEGER,
    first_dispatched_at INTEGER,
    receipt             TEXT,
    reason              TEXT,
    asked_by            TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    finished_at         INTEGER,
    CONSTRAINT sends_intent UNIQUE (sender, intent_key),
    CHECK ((content IS NULL) = (content_key IS NULL)),
    CHECK (state NOT IN ('claimed', 'dispatched') OR (claim_token IS NOT NULL
                                                      AND lease_until IS NOT NULL))
) STRICT;

CREATE INDEX sends_due ON sends (due_at) WHERE state IN ('held', 'ready', 'uncertain');
CREATE INDEX sends_leases ON sends (lease_until) WHERE state IN ('claimed', 'dispatched');
CREATE INDEX sends_listed ON sends (state, id);
CREATE INDEX sends_wipe ON sends (finished_at) WHERE content IS NOT NULL;
CREATE INDEX sends_provider_key ON sends (provider_key);
CREATE INDEX sends_created ON sends (created_at);

-- What happened to a send: only words from closed lists, and the name of an API key.
CREATE TABLE send_events (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    send_id             BLOB    NOT NULL,
    at                  INTEGER NOT NULL,
    what                TEXT    NOT NULL,
    why                 TEXT,
    by_key              TEXT,
    -- The fencing token that was handed out.
    claim_token         BLOB
) STRICT;

CREATE INDEX send_events_of ON send_events (send_id, id);
CREATE INDEX send_events_at ON send_events (at);

-- Events are added, and deleted when their retention time is over. None is changed.
CREATE TRIGGER send_events_added_only BEFORE UPDATE ON send_events
    BEGIN SELECT RAISE(ABORT, 'events are not changed'); END;

-- Requests for sends; the twin of `requests`, whose list of routes cannot be extended
-- without a new table.
CREATE TABLE send_requests (
    consumer            TEXT    NOT NULL,
    idempotency_key     TEXT    NOT NULL,
    tag                 BLOB    NOT NULL CHECK (length(tag) = 16),
    made                TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    PRIMARY KEY (consumer, idempotency_key)
) STRICT;

CREATE INDEX send_requests_created ON send_requests (created_at);

-- How many sends a recipient, a key or the installation had in a window of fixed length.
CREATE TABLE send_counts (
    what                TEXT    NOT NULL,
    subject             BLOB    NOT NULL CHECK (length(subject) = 16),
    window_ms           INTEGER NOT NULL,
    slot                INTEGER NOT NULL,
    count               INTEGER NOT NULL,
    ends_at             INTEGER NOT NULL,
    PRIMARY KEY (what, subject, window_ms, slot)
) STRICT;

CREATE INDEX send_counts_end ON send_counts (ends_at);

CREATE TRIGGER sends_retired_key BEFORE INSERT ON sends
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.content_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
CREATE TRIGGER sends_retired_rekey BEFORE UPDATE OF content_key ON sends
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.content_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
