-- The five tables of the pipeline. Every time is the database's own.

-- One row is one authentic post. The row is the truth and the outbox: whatever
-- is `pending` or `claimed` is still to be done, whether a bell rang or not.
CREATE TABLE deliveries (
    id              uuid        PRIMARY KEY,
    source          text        NOT NULL,
    -- The first of the three layers of deduplication. This key and the digest
    -- are tags under the server's secret: a plain hash of a mail in which only
    -- six digits are unknown is found in seconds.
    delivery_key    bytea       NOT NULL CHECK (octet_length(delivery_key) = 16),
    content_digest  bytea       NOT NULL CHECK (octet_length(content_digest) = 32),
    content_type    text        NOT NULL,
    -- The row that had taken the key with other content. No foreign key: the
    -- two rows are kept and purged each on its own.
    conflict_of     uuid,
    state           text        NOT NULL DEFAULT 'pending'
                                CHECK (state IN ('pending', 'claimed', 'done', 'buried')),
    attempts        integer     NOT NULL DEFAULT 0,
    -- The fence: whoever ends a claim must still hold this.
    claim_token     uuid,
    -- From when it may be claimed: the next attempt of a pending delivery, the
    -- end of the lease of a claimed one.
    claimable_at    timestamptz NOT NULL DEFAULT now(),
    -- From when the sweeper rings for it.
    ring_at         timestamptz NOT NULL DEFAULT now() + interval '2 seconds',
    reason          text,
    recorded_at     timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz,
    -- The key that the body is sealed under, and the sealed body; neither once
    -- it was wiped.
    body_key        text,
    body            bytea,
    CONSTRAINT deliveries_key UNIQUE (delivery_key),
    CHECK ((state = 'claimed') = (claim_token IS NOT NULL)),
    CHECK ((state IN ('done', 'buried')) = (finished_at IS NOT NULL)),
    CHECK (state <> 'buried' OR reason IS NOT NULL),
    CHECK ((body IS NULL) = (body_key IS NULL)),
    CHECK (state IN ('done', 'buried') OR body IS NOT NULL)
);

CREATE INDEX deliveries_unfinished ON deliveries (ring_at) WHERE state IN ('pending', 'claimed');
CREATE INDEX deliveries_buried ON deliveries (finished_at) WHERE state = 'buried';

-- What is sealed does not compress; trying costs more than the commit itself.
ALTER TABLE deliveries ALTER COLUMN body SET STORAGE EXTERNAL;

-- The address an agent waits on, and the counter that numbers its items. The
-- row's lock orders the writers of one inbox, so numbers appear in order.
CREATE TABLE inboxes (
    inbox       text    PRIMARY KEY,
    last_seq    bigint  NOT NULL DEFAULT 0
);

-- One row is one e-mail to one inbox.
CREATE TABLE messages (
    id              uuid        PRIMARY KEY,
    delivery_id     uuid        NOT NULL REFERENCES deliveries (id),
    inbox           text        NOT NULL REFERENCES inboxes (inbox),
    -- The second of the three layers.
    message_key     bytea       NOT NULL CHECK (octet_length(message_key) = 16),
    sender          text,
    sender_domain   text,
    -- Slugs, separated by spaces.
    flags           text        NOT NULL,
    -- When its delivery was recorded.
    received_at     timestamptz NOT NULL,
    CONSTRAINT messages_key UNIQUE (message_key)
);

CREATE INDEX messages_delivery ON messages (delivery_id);

-- One row is what a message held: a code, a link, or nothing and why.
CREATE TABLE artifacts (
    id              uuid        PRIMARY KEY,
    message_id      uuid        NOT NULL REFERENCES messages (id),
    inbox           text        NOT NULL REFERENCES inboxes (inbox),
    seq             bigint      NOT NULL,
    -- The third of the three layers.
    artifact_key    bytea       NOT NULL CHECK (octet_length(artifact_key) = 16),
    kind            text        NOT NULL CHECK (kind IN ('code', 'link', 'nothing')),
    verdict         text        NOT NULL CHECK (verdict IN ('usable', 'withheld', 'abstained')),
    reason          text,
    rule            text        NOT NULL,
    confidence      smallint    NOT NULL CHECK (confidence BETWEEN 0 AND 100),
    host            text,
    -- The key that the value is sealed under, and the sealed value; neither
    -- once it was wiped.
    value_key       text,
    value           bytea,
    expires_at      timestamptz NOT NULL,
    wiped_at        timestamptz,
    CONSTRAINT artifacts_key UNIQUE (artifact_key),
    CONSTRAINT artifacts_place UNIQUE (inbox, seq),
    CHECK ((verdict = 'usable') = (value IS NOT NULL OR wiped_at IS NOT NULL)),
    CHECK (value IS NULL OR wiped_at IS NULL),
    CHECK ((value IS NULL) = (value_key IS NULL)),
    CHECK ((verdict = 'usable') = (reason IS NULL))
);

CREATE INDEX artifacts_message ON artifacts (message_id);
ALTER TABLE artifacts ALTER COLUMN value SET STORAGE EXTERNAL;

-- One row is the one use of an artifact. It is committed before the value is
-- disclosed, so the primary key is what makes a disclosure the only one. No
-- foreign key: that something was used is known for longer than what it was.
CREATE TABLE consumes (
    artifact_id     uuid        PRIMARY KEY,
    consumer        text        NOT NULL,
    idempotency_key text        NOT NULL,
    consumed_at     timestamptz NOT NULL,
    CONSTRAINT consumes_request UNIQUE (consumer, idempotency_key)
);
