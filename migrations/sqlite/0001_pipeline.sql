-- The five tables of the pipeline, the twin of the Postgres file. Times are
-- milliseconds since 1970 by the database's clock, ids and keys are blobs.

-- The database's clock; a statement sees one moment, however often it asks.
CREATE VIEW clock (now) AS
    SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER);

-- One row is one authentic post. The row is the truth and the outbox: whatever
-- is `pending` or `claimed` is still to be done, whether a bell rang or not.
CREATE TABLE deliveries (
    id              BLOB    PRIMARY KEY NOT NULL,
    source          TEXT    NOT NULL,
    -- The first of the three layers of deduplication. This key and the digest
    -- are tags under the server's secret: a plain hash of a mail in which only
    -- six digits are unknown is found in seconds.
    delivery_key    BLOB    NOT NULL CHECK (length(delivery_key) = 16),
    content_digest  BLOB    NOT NULL CHECK (length(content_digest) = 32),
    content_type    TEXT    NOT NULL,
    -- The row that had taken the key with other content. No foreign key: the
    -- two rows are kept and purged each on its own.
    conflict_of     BLOB,
    state           TEXT    NOT NULL DEFAULT 'pending'
                            CHECK (state IN ('pending', 'claimed', 'done', 'buried')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    -- The fence: whoever ends a claim must still hold this.
    claim_token     BLOB,
    -- From when it may be claimed: the next attempt of a pending delivery, the
    -- end of the lease of a claimed one.
    claimable_at    INTEGER NOT NULL,
    -- From when the sweeper rings for it.
    ring_at         INTEGER NOT NULL,
    reason          TEXT,
    recorded_at     INTEGER NOT NULL,
    finished_at     INTEGER,
    -- The key that the body is sealed under, and the sealed body; neither once
    -- it was wiped. The last column: what stands before it is read without it.
    body_key        TEXT,
    body            BLOB,
    CONSTRAINT deliveries_key UNIQUE (delivery_key),
    CHECK ((state = 'claimed') = (claim_token IS NOT NULL)),
    CHECK ((state IN ('done', 'buried')) = (finished_at IS NOT NULL)),
    CHECK (state <> 'buried' OR reason IS NOT NULL),
    CHECK ((body IS NULL) = (body_key IS NULL)),
    CHECK (state IN ('done', 'buried') OR body IS NOT NULL)
) STRICT;

CREATE INDEX deliveries_unfinished ON deliveries (ring_at) WHERE state IN ('pending', 'claimed');
CREATE INDEX deliveries_buried ON deliveries (finished_at) WHERE state = 'buried';

-- The address an agent waits on, and the counter that numbers its items. There
-- is one writer, so numbers appear in order.
CREATE TABLE inboxes (
    inbox       TEXT    PRIMARY KEY NOT NULL,
    last_seq    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One row is one e-mail to one inbox.
CREATE TABLE messages (
    id              BLOB    PRIMARY KEY NOT NULL,
    delivery_id     BLOB    NOT NULL REFERENCES deliveries (id),
    inbox           TEXT    NOT NULL REFERENCES inboxes (inbox),
    -- The second of the three layers.
    message_key     BLOB    NOT NULL CHECK (length(message_key) = 16),
    sender          TEXT,
    sender_domain   TEXT,
    -- Slugs, separated by spaces.
    flags           TEXT    NOT NULL,
    -- When its delivery was recorded.
    received_at     INTEGER NOT NULL,
    CONSTRAINT messages_key UNIQUE (message_key)
) STRICT;

CREATE INDEX messages_delivery ON messages (delivery_id);

-- One row is what a message held: a code, a link, or nothing and why.
CREATE TABLE artifacts (
    id              BLOB    PRIMARY KEY NOT NULL,
    message_id      BLOB    NOT NULL REFERENCES messages (id),
    inbox           TEXT    NOT NULL REFERENCES inboxes (inbox),
    seq             INTEGER NOT NULL,
    -- The third of the three layers.
    artifact_key    BLOB    NOT NULL CHECK (length(artifact_key) = 16),
    kind            TEXT    NOT NULL CHECK (kind IN ('code', 'link', 'nothing')),
    verdict         TEXT    NOT NULL CHECK (verdict IN ('usable', 'withheld', 'abstained')),
    reason          TEXT,
    rule            TEXT    NOT NULL,
    confidence      INTEGER NOT NULL CHECK (confidence BETWEEN 0 AND 100),
    host            TEXT,
    -- The key that the value is sealed under, and the sealed value; neither
    -- once it was wiped.
    value_key       TEXT,
    value           BLOB,
    expires_at      INTEGER NOT NULL,
    wiped_at        INTEGER,
    CONSTRAINT artifacts_key UNIQUE (artifact_key),
    CONSTRAINT artifacts_place UNIQUE (inbox, seq),
    CHECK ((verdict = 'usable') = (value IS NOT NULL OR wiped_at IS NOT NULL)),
    CHECK (value IS NULL OR wiped_at IS NULL),
    CHECK ((value IS NULL) = (value_key IS NULL)),
    CHECK ((verdict = 'usable') = (reason IS NULL))
) STRICT;

CREATE INDEX artifacts_message ON artifacts (message_id);

-- One row is the one use of an artifact. It is committed before the value is
-- disclosed, so the primary key is what makes a disclosure the only one. No
-- foreign key: that something was used is known for longer than what it was.
CREATE TABLE consumes (
    artifact_id     BLOB    PRIMARY KEY NOT NULL,
    consumer        TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    consumed_at     INTEGER NOT NULL,
    CONSTRAINT consumes_request UNIQUE (consumer, idempotency_key)
) STRICT;
