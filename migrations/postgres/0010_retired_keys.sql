-- The names of sealing keys that were retired. A row that was sealed under such a key
-- and comes late, from a process that stood still, is refused: nobody could ever open
-- it. Whoever retires a key locks both tables for a moment, so that each row is
-- either there for all to see by then or meets these triggers.
CREATE TABLE retired_keys (
    key_id          text        PRIMARY KEY,
    retired_at      timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION refuse_retired_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sealed_under    text;
BEGIN
    IF TG_TABLE_NAME = 'deliveries' THEN
        sealed_under := NEW.body_key;
    ELSE
        sealed_under := NEW.value_key;
    END IF;
    IF EXISTS (SELECT 1 FROM retired_keys WHERE key_id = sealed_under) THEN
        -- A condition of the server, not of the data: sealed anew it is taken.
        RAISE EXCEPTION 'the sealing key is retired'
            USING ERRCODE = '55000', CONSTRAINT = 'retired_keys';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER deliveries_retired_key BEFORE INSERT OR UPDATE OF body_key ON deliveries
    FOR EACH ROW WHEN (NEW.body_key IS NOT NULL) EXECUTE FUNCTION refuse_retired_key();
CREATE TRIGGER artifacts_retired_key BEFORE INSERT OR UPDATE OF value_key ON artifacts
    FOR EACH ROW WHEN (NEW.value_key IS NOT NULL) EXECUTE FUNCTION refuse_retired_key();
