-- Whether a mail is proven to come from the domain it names.

-- What proves it, `provider` or `dkim`, or why nothing does.
ALTER TABLE messages ADD COLUMN sender_proof    TEXT    NOT NULL DEFAULT 'unchecked';

-- Whether mail without a proof is kept back.
ALTER TABLE inboxes  ADD COLUMN needs_proof     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN needs_proof     INTEGER NOT NULL DEFAULT 0;

-- The view of 0002 with the proof.
DROP VIEW items;
CREATE VIEW items AS
    SELECT a.id, a.inbox, a.seq, a.kind, a.verdict, a.reason, a.rule, a.confidence, a.host,
           a.message_id, m.sender, m.sender_domain, m.sender_proof, m.flags, m.received_at,
           a.expires_at, a.expires_at <= (SELECT now FROM clock) AS is_expired, c.consumed_at,
           a.attempt_id, a.superseded_at IS NOT NULL AS is_superseded
    FROM artifacts a
    JOIN messages m ON m.id = a.message_id
    LEFT JOIN consumes c ON c.artifact_id = a.id;

-- For whoever clears away attempts that are over.
CREATE INDEX attempts_deadline ON attempts (deadline);
CREATE INDEX callbacks_attempt ON callbacks (attempt_id);
