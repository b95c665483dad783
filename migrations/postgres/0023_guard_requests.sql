-- Requests for guards, so that a repetition is recognised and a key names one intent; the twin of
-- `send_requests`. A row is written in the transaction that claims the guard.
CREATE TABLE guard_requests (
    consumer            text        NOT NULL,
    idempotency_key     text        NOT NULL,
    -- A keyed hash of the intent.
    tag                 bytea       NOT NULL CHECK (octet_length(tag) = 16),
    -- The guard or the send that has the intent.
    made                text        NOT NULL,
    created_at          timestamptz NOT NULL,
    CONSTRAINT guard_requests_known PRIMARY KEY (consumer, idempotency_key)
);

CREATE INDEX guard_requests_created ON guard_requests (created_at);
