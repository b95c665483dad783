-- One row is one value on its way to a configured callback. It is written in the
-- transaction that gives the artifact to its attempt, together with the consume
-- row that names the callback, so nobody else can have the value from then on.
CREATE TABLE callbacks (
    -- What the receiver deduplicates by: the same on every try.
    id              BLOB    PRIMARY KEY NOT NULL,
    artifact_id     BLOB    NOT NULL,
    attempt_id      BLOB    NOT NULL REFERENCES attempts (id),
    -- The configured name; where it leads is not kept here.
    name            TEXT    NOT NULL,
    state           TEXT    NOT NULL DEFAULT 'pending'
                            CHECK (state IN ('pending', 'done', 'dead')),
    tries           INTEGER NOT NULL DEFAULT 0,
    -- The fence: whoever ends a try must still hold this.
    claim_token     BLOB,
    -- From when it may be tried: the next try, or the end of the lease of one.
    due_at          INTEGER NOT NULL,
    deadline        INTEGER NOT NULL,
    reason          TEXT,
    finished_at     INTEGER,
    CONSTRAINT callbacks_artifact UNIQUE (artifact_id),
    CHECK ((state = 'pending') = (finished_at IS NULL))
) STRICT;

CREATE INDEX callbacks_due ON callbacks (due_at) WHERE state = 'pending';
CREATE INDEX callbacks_dead ON callbacks (finished_at) WHERE state = 'dead';
