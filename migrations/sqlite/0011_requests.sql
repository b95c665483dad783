-- Requests that were granted, so that a retry finds what the first has made. A row
-- is written in the transaction that makes it.
CREATE TABLE requests (
    consumer        TEXT    NOT NULL,
    -- What was asked for; the same key for another thing is another request.
    route           TEXT    NOT NULL
                    CHECK (route IN ('attempt', 'finish', 'inbox', 'rotate', 'key')),
    idempotency_key TEXT    NOT NULL,
    -- A keyed hash of what was said.
    tag             BLOB    NOT NULL CHECK (length(tag) = 16),
    -- The id or the address of what came of it.
    made            TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (consumer, route, idempotency_key)
) STRICT;

CREATE INDEX requests_created ON requests (created_at);
