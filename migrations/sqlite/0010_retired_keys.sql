-- The names of sealing keys that were retired. A row that was sealed under such a key
-- and comes late, from a process that stood still, is refused: nobody could ever open
-- it. There is one writer at a time, so each row is either there for all to see when a
-- key is retired or meets these triggers.
CREATE TABLE retired_keys (
    key_id          TEXT    PRIMARY KEY NOT NULL,
    retired_at      INTEGER NOT NULL
) STRICT;

CREATE TRIGGER deliveries_retired_key BEFORE INSERT ON deliveries
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.body_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
CREATE TRIGGER deliveries_retired_rekey BEFORE UPDATE OF body_key ON deliveries
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.body_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
CREATE TRIGGER artifacts_retired_key BEFORE INSERT ON artifacts
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.value_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
CREATE TRIGGER artifacts_retired_rekey BEFORE UPDATE OF value_key ON artifacts
    WHEN EXISTS (SELECT 1 FROM retired_keys WHERE key_id = NEW.value_key)
    BEGIN SELECT RAISE(ABORT, 'the sealing key is retired'); END;
