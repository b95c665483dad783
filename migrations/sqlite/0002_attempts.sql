-- Inboxes get an owner and rules; attempts are what agents open.

-- The key that made it; nobody's when a first mail did.
ALTER TABLE inboxes ADD COLUMN owner        TEXT;
-- Domains and hosts, separated by spaces; no `links` leaves it to the
-- operator's list, while an empty one allows none.
ALTER TABLE inboxes ADD COLUMN senders      TEXT    NOT NULL DEFAULT '';
ALTER TABLE inboxes ADD COLUMN links        TEXT;
ALTER TABLE inboxes ADD COLUMN lifetime_ms  INTEGER;
ALTER TABLE inboxes ADD COLUMN retention_ms INTEGER;
ALTER TABLE inboxes ADD COLUMN metadata     TEXT;
-- A column that is added cannot ask the clock; whoever inserts does.
ALTER TABLE inboxes ADD COLUMN created_at   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inboxes ADD COLUMN expires_at   INTEGER;

CREATE INDEX inboxes_owner ON inboxes (owner, inbox);

-- One row is one try of an agent to get a code or a link. There is one writer,
-- so it stands on one side of every arrival.
CREATE TABLE attempts (
    id              BLOB    PRIMARY KEY NOT NULL,
    owner           TEXT    NOT NULL,
    -- The owner's own word; the same word means the same attempt.
    reference       TEXT,
    request         BLOB    NOT NULL CHECK (length(request) = 16),
    inbox           TEXT    NOT NULL REFERENCES inboxes (inbox),
    wanted          TEXT    NOT NULL CHECK (wanted IN ('code', 'link', 'either')),
    senders         TEXT    NOT NULL,
    links           TEXT,
    token           TEXT,
    callback        TEXT,
    -- The watermark: nothing that was received before counts.
    opened_at       INTEGER NOT NULL,
    deadline        INTEGER NOT NULL,
    resends         INTEGER NOT NULL,
    resends_used    INTEGER NOT NULL DEFAULT 0,
    resent_at       INTEGER,
    -- The newest artifact that is this attempt's.
    current         BLOB,
    -- What the last mail that was of no use was like.
    miss            TEXT    CHECK (miss IN ('blocked', 'no_artifact')),
    miss_reason     TEXT,
    outcome         TEXT    CHECK (outcome IN ('succeeded', 'failed', 'abandoned')),
    finished_at     INTEGER,
    CONSTRAINT attempts_reference UNIQUE (owner, reference),
    CHECK (resends_used BETWEEN 0 AND resends),
    CHECK ((miss IS NULL) = (miss_reason IS NULL)),
    CHECK ((outcome IS NULL) = (finished_at IS NULL))
) STRICT;

CREATE INDEX attempts_open ON attempts (inbox, opened_at) WHERE outcome IS NULL;

-- One row is one resend that was granted; a retry finds it.
CREATE TABLE resends (
    attempt_id      BLOB    NOT NULL REFERENCES attempts (id),
    owner           TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    left_after      INTEGER NOT NULL,
    CONSTRAINT resends_request PRIMARY KEY (owner, idempotency_key)
) STRICT;

-- The attempt it is for: one at most, chosen when it arrived.
ALTER TABLE artifacts ADD COLUMN attempt_id     BLOB REFERENCES attempts (id);
-- When a newer one took its place.
ALTER TABLE artifacts ADD COLUMN superseded_at  INTEGER;

CREATE INDEX artifacts_attempt ON artifacts (attempt_id) WHERE attempt_id IS NOT NULL;

-- An artifact with the message it came in and its consume: all that is ever
-- listed of it. The value is not in here.
CREATE VIEW items AS
    SELECT a.id, a.inbox, a.seq, a.kind, a.verdict, a.reason, a.rule, a.confidence, a.host,
           a.message_id, m.sender, m.sender_domain, m.flags, m.received_at, a.expires_at,
           a.expires_at <= (SELECT now FROM clock) AS is_expired, c.consumed_at, a.attempt_id,
           a.superseded_at IS NOT NULL AS is_superseded
    FROM artifacts a
    JOIN messages m ON m.id = a.message_id
    LEFT JOIN consumes c ON c.artifact_id = a.id;
