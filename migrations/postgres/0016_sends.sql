-- One row is one action with one intent: a mail that is sent here, or a guard of an
-- action elsewhere. The unique key makes an intent happen once, whoever asks for it.
CREATE TABLE sends (
    id                  uuid        PRIMARY KEY,
    kind                text        NOT NULL CHECK (kind IN ('send', 'guard')),
    -- The configured name; intents are unique for each.
    sender              text        NOT NULL,
    -- `mail`, or another word for a guard.
    action              text        NOT NULL,
    intent_key          bytea       NOT NULL CHECK (octet_length(intent_key) = 16),
    -- What the provider recognises a repetition by. It is kept here, so that another
    -- server secret does not change it.
    provider_key        bytea       NOT NULL CHECK (octet_length(provider_key) = 32),
    -- What the intent is about; not there for an intent that is named by a key.
    intent_type         text,
    entity              text,
    version             bigint,
    -- A digest of the rendered mail.
    fingerprint         bytea       CHECK (octet_length(fingerprint) = 32),
    provider            text,
    message_id          text,
    -- The recipient and the rendered request to the provider, sealed.
    content             bytea,
    content_key         text,
    state               text        NOT NULL
                        CHECK (state IN ('held', 'ready', 'claimed', 'dispatched', 'sent',
                                         'failed', 'cancelled', 'uncertain')),
    tries               integer     NOT NULL DEFAULT 0,
    settle_tries        integer     NOT NULL DEFAULT 0,
    -- The fence: whoever writes a result must still hold this.
    claim_token         uuid,
    lease_until         timestamptz,
    -- The request that holds a guard, if it had an idempotency key.
    asked               bytea       CHECK (octet_length(asked) = 16),
    -- From when it may be claimed. Held: until when it may be approved.
    due_at              timestamptz,
    first_dispatched_at timestamptz,
    receipt             text,
    reason              text,
    asked_by            text        NOT NULL,
    created_at          timestamptz NOT NULL,
    finished_at         timestamptz,
    CONSTRAINT sends_intent UNIQUE (sender, intent_key),
    CHECK ((content IS NULL) = (content_key IS NULL)),
    CHECK (state NOT IN ('claimed', 'dispatched') OR (claim_token IS NOT NULL
                                                      AND lease_until IS NOT NULL))
);

-- Sealed bytes do not compress.
ALTER TABLE sends ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE INDEX sends_due ON sends (due_at) WHERE state IN ('held', 'ready', 'uncertain');
CREATE INDEX sends_leases ON sends (lease_until) WHERE state IN ('claimed', 'dispatched');
CREATE INDEX sends_listed ON sends (state, id);
CREATE INDEX sends_wipe ON sends (finished_at) WHERE content IS NOT NULL;
CREATE INDEX sends_provider_key ON sends (provider_key);
CREATE INDEX sends_created ON sends (created_at);

-- What happened to a send: only words from closed lists, and the name of an API key.
CREATE TABLE send_events (
    id                  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    send_id             uuid        NOT NULL,
    at                  timestamptz NOT NULL,
    what                text        NOT NULL,
    why                 text,
    by_key              text,
    -- The fencing token that was handed out.
    claim_token         uuid
);

CREATE INDEX send_events_of ON send_events (send_id, id);
CREATE INDEX send_events_at ON send_events (at);

-- Events are added, and deleted when their retention time is over. None is changed.
CREATE FUNCTION refuse_changed_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events are not changed' USING ERRCODE = '55000';
END
$$;
CREATE TRIGGER send_events_added_only BEFORE UPDATE ON send_events
    FOR EACH ROW EXECUTE FUNCTION refuse_changed_event();

-- Requests for sends; the twin of `requests`, whose list of routes cannot be extended
-- in SQLite without a new table.
CREATE TABLE send_requests (
    consumer            text        NOT NULL,
    idempotency_key     text        NOT NULL,
    tag                 bytea       NOT NULL CHECK (octet_length(tag) = 16),
    made                text        NOT NULL,
    created_at          timestamptz NOT NULL,
    CONSTRAINT send_requests_known PRIMARY KEY (consumer, idempotency_key)
);

CREATE INDEX send_requests_created ON send_requests (created_at);

-- How many sends a recipient, a key or the installation had in a window of fixed length.
CREATE TABLE send_counts (
    what                text        NOT NULL,
    subject             bytea       NOT NULL CHECK (octet_length(subject) = 16),
    window_ms           bigint      NOT NULL,
    slot                bigint      NOT NULL,
    count               bigint      NOT NULL,
    ends_at             timestamptz NOT NULL,
    PRIMARY KEY (what, subject, window_ms, slot)
);

CREATE INDEX send_counts_end ON send_counts (ends_at);

CREATE FUNCTION refuse_retired_send_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.content_key) THEN
        -- A condition of the server, not of the data: sealed anew it is taken.
        RAISE EXCEPTION 'the sealing key is retired'
            USING ERRCODE = '55000', CONSTRAINT = 'retired_keys';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER sends_retired_key BEFORE INSERT OR UPDATE OF content_key ON sends
    FOR EACH ROW WHEN (NEW.content_key IS NOT NULL) EXECUTE FUNCTION refuse_retired_send_key();
