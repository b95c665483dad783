-- Keys that were made while the service runs; configured ones are not here.

CREATE TABLE keys (
    -- The part of the token by which its row is found. It is no secret.
    id          text        PRIMARY KEY,
    -- The consumer that the key speaks for.
    name        text        NOT NULL,
    -- SHA-256 of the whole token, which holds 256 random bits: there is no
    -- dictionary to try against it, so a fast hash is the right one.
    hash        bytea       NOT NULL CHECK (octet_length(hash) = 32),
    -- Words with spaces between them.
    scopes      text        NOT NULL,
    inboxes     text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz,
    -- Noted every few minutes, not with every request.
    used_at     timestamptz
);

-- A name has one token at a time. What it replaces stays, for the record.
CREATE UNIQUE INDEX keys_by_name ON keys (name) WHERE revoked_at IS NULL;
