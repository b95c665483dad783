-- Keys that were made while the service runs; the twin of the Postgres file.

CREATE TABLE keys (
    -- The part of the token by which its row is found. It is no secret.
    id          TEXT    PRIMARY KEY NOT NULL,
    -- The consumer that the key speaks for.
    name        TEXT    NOT NULL,
    -- SHA-256 of the whole token, which holds 256 random bits: there is no
    -- dictionary to try against it, so a fast hash is the right one.
    hash        BLOB    NOT NULL CHECK (length(hash) = 32),
    -- Words with spaces between them.
    scopes      TEXT    NOT NULL,
    inboxes     TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    -- Noted every few minutes, not with every request.
    used_at     INTEGER
) STRICT;

-- A name has one token at a time. What it replaces stays, for the record.
CREATE UNIQUE INDEX keys_by_name ON keys (name) WHERE revoked_at IS NULL;
