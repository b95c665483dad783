-- One row is one value on its way to a configured callback. It is written in the
-- transaction that gives the artifact to its attempt, together with the consume
-- row that names the callback, so nobody else can have the value from then on.
CREATE TABLE callbacks (
    -- What the receiver deduplicates by: the same on every try.
    id              uuid        PRIMARY KEY,
    artifact_id     uuid        NOT NULL,
    attempt_id      uuid        NOT NULL REFERENCES attempts (id),
    -- The configured name; where it leads is not kept here.
    name            text        NOT NULL,
    state           text        NOT NULL DEFAULT 'pending'
                                CHECK (state IN ('pending', 'done', 'dead')),
    tries           integer     NOT NULL DEFAULT 0,
    -- The fence: whoever ends a try must still hold this.
    claim_token     uuid,
    -- From when it may be tried: the next try, or the end of the lease of one.
    due_at          timestamptz NOT NULL DEFAULT now(),
    deadline        timestamptz NOT NULL,
    reason          text,
    finished_at     timestamptz,
    CONSTRAINT callbacks_artifact UNIQUE (artifact_id),
    CHECK ((state = 'pending') = (finished_at IS NULL))
);

CREATE INDEX callbacks_due ON callbacks (due_at) WHERE state = 'pending';
CREATE INDEX callbacks_dead ON callbacks (finished_at) WHERE state = 'dead';
