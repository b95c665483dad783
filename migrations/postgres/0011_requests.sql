-- Requests that were granted, so that a retry finds what the first has made. A row
-- is written in the transaction that makes it: whoever comes with the same key at
-- the same moment waits for that one.
CREATE TABLE requests (
    consumer        text        NOT NULL,
    -- What was asked for; the same key for another thing is another request.
    route           text        NOT NULL
                    CHECK (route IN ('attempt', 'finish', 'inbox', 'rotate', 'key')),
    idempotency_key text        NOT NULL,
    -- A keyed hash of what was said.
    tag             bytea       NOT NULL CHECK (octet_length(tag) = 16),
    -- The id or the address of what came of it.
    made            text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT requests_known PRIMARY KEY (consumer, route, idempotency_key)
);

CREATE INDEX requests_created ON requests (created_at);
