-- Inboxes get an owner and rules; attempts are what agents open.

ALTER TABLE inboxes
    -- The key that made it; nobody's when a first mail did.
    ADD COLUMN owner        text,
    -- Domains and hosts, separated by spaces; no `links` leaves it to the
    -- operator's list, while an empty one allows none.
    ADD COLUMN senders      text        NOT NULL DEFAULT '',
    ADD COLUMN links        text,
    ADD COLUMN lifetime_ms  bigint,
    ADD COLUMN retention_ms bigint,
    ADD COLUMN metadata     text,
    ADD COLUMN created_at   timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN expires_at   timestamptz;

CREATE INDEX inboxes_owner ON inboxes (owner, inbox);

-- One row is one try of an agent to get a code or a link. It is inserted under
-- the lock of its inbox's row, as everything that arrives there is, so it stands
-- on one side of every arrival.
CREATE TABLE attempts (
    id              uuid        PRIMARY KEY,
    owner           text        NOT NULL,
    -- The owner's own word; the same word means the same attempt.
    reference       text,
    request         bytea       NOT NULL CHECK (octet_length(request) = 16),
    inbox           text        NOT NULL REFERENCES inboxes (inbox),
    wanted          text        NOT NULL CHECK (wanted IN ('code', 'link', 'either')),
    senders         text        NOT NULL,
    links           text,
    token           text,
    callback        text,
    -- The watermark: nothing that was received before counts.
    opened_at       timestamptz NOT NULL,
    deadline        timestamptz NOT NULL,
    resends         integer     NOT NULL,
    resends_used    integer     NOT NULL DEFAULT 0,
    resent_at       timestamptz,
    -- The newest artifact that is this attempt's.
    current         uuid,
    -- What the last mail that was of no use was like.
    miss            text        CHECK (miss IN ('blocked', 'no_artifact')),
    miss_reason     text,
    outcome         text        CHECK (outcome IN ('succeeded', 'failed', 'abandoned')),
    finished_at     timestamptz,
    CONSTRAINT attempts_reference UNIQUE (owner, reference),
    CHECK (resends_used BETWEEN 0 AND resends),
    CHECK ((miss IS NULL) = (miss_reason IS NULL)),
    CHECK ((outcome IS NULL) = (finished_at IS NULL))
);

CREATE INDEX attempts_open ON attempts (inbox, opened_at) WHERE outcome IS NULL;

-- One row is one resend that was granted; a retry finds it.
CREATE TABLE resends (
    attempt_id      uuid        NOT NULL REFERENCES attempts (id),
    owner           text        NOT NULL,
    idempotency_key text        NOT NULL,
    left_after      integer     NOT NULL,
    CONSTRAINT resends_request PRIMARY KEY (owner, idempotency_key)
);

ALTER TABLE artifacts
    -- The attempt it is for: one at most, chosen when it arrived.
    ADD COLUMN attempt_id       uuid REFERENCES attempts (id),
    -- When a newer one took its place.
    ADD COLUMN superseded_at    timestamptz;

CREATE INDEX artifacts_attempt ON artifacts (attempt_id) WHERE attempt_id IS NOT NULL;

-- An artifact with the message it came in and its consume: all that is ever
-- listed of it. The value is not in here.
CREATE VIEW items AS
    SELECT a.id, a.inbox, a.seq, a.kind, a.verdict, a.reason, a.rule, a.confidence, a.host,
           a.message_id, m.sender, m.sender_domain, m.flags, m.received_at, a.expires_at,
           a.expires_at <= now() AS is_expired, c.consumed_at, a.attempt_id,
           a.superseded_at IS NOT NULL AS is_superseded
    FROM artifacts a
    JOIN messages m ON m.id = a.message_id
    LEFT JOIN consumes c ON c.artifact_id = a.id;
