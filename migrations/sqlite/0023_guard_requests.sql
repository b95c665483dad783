-- Requests for guards, so that a repetition is recognised and a key names one intent; the twin of
-- `send_requests`. A row is written in the transaction that claims the guard.
CREATE TABLE guard_requests (
    consumer            TEXT    NOT NULL,
    idempotency_key     TEXT    NOT NULL,
    -- A keyed hash of the intent.
    tag                 BLOB    NOT NULL CHECK (length(tag) = 16),
    -- The guard or the send that has the intent.
    made                TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    PRIMARY KEY (consumer, idempotency_key)
) STRICT;

CREATE INDEX guard_requests_created ON guard_requests (created_at);
