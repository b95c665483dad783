-- Whether an earlier dispatch of a send may have been sent. It is set when the send becomes
-- `uncertain`, and stays when the sender's configuration makes it `ready` again. Only the operator,
-- who says that it was not sent, clears it. While it is set, the send ends neither as `failed`
-- because its provider refuses it, nor as `cancelled`. A guard does not use it.
ALTER TABLE sends ADD COLUMN may_have_been_sent boolean NOT NULL DEFAULT false;

-- The sends that are uncertain now, and those that were sent again since without an operator.
UPDATE sends SET may_have_been_sent = true
WHERE kind = 'send'
  AND (state = 'uncertain'
       OR (state IN ('ready', 'claimed', 'dispatched')
           AND EXISTS (SELECT 1 FROM send_events e
                       WHERE e.send_id = sends.id AND e.what = 'uncertain'
                         AND NOT EXISTS (SELECT 1 FROM send_events later
                                         WHERE later.send_id = e.send_id AND later.id > e.id
                                           AND later.what = 'settled_retry'))));
