-- A mail that its provider names: one message by webhook and by API, though one
-- brings the original and the other its parts.
ALTER TABLE messages ADD COLUMN provider_key bytea
    CHECK (octet_length(provider_key) = 16);

CREATE UNIQUE INDEX messages_provider_key ON messages (provider_key)
    WHERE provider_key IS NOT NULL;
