//! What is kept of sends, and for how long.

use crate::backend::Sql;

/// The recipients and the bytes of sends that were sent or have failed. Those of an
/// uncertain send stay: it may be sent again with the same bytes.
pub(super) const CONTENTS: Sql = Sql {
    postgres: "UPDATE sends SET content = NULL, content_key = NULL
               WHERE id IN (SELECT id FROM sends
                            WHERE content IS NOT NULL AND state IN ('sent', 'failed')
                              AND finished_at <= now() - least($1, $2) * interval '1 millisecond'
                            ORDER BY finished_at LIMIT $3 FOR UPDATE SKIP LOCKED)
                 AND state IN ('sent', 'failed')
               RETURNING (extract(epoch FROM now() - finished_at) * 1000)::bigint - $1",
    sqlite: "UPDATE sends SET content = NULL, content_key = NULL
             WHERE id IN (SELECT id FROM sends
                          WHERE content IS NOT NULL AND state IN ('sent', 'failed')
                            AND finished_at <= (SELECT now FROM clock) - min($1, $2)
                          ORDER BY finished_at LIMIT $3)
             RETURNING (SELECT now FROM clock) - finished_at - $1",
};

/// What happened to sends.
pub(super) const EVENTS: Sql = Sql {
    postgres: "DELETE FROM send_events
               WHERE id IN (SELECT id FROM send_events
                            WHERE at <= now() - $1 * interval '1 millisecond'
                            ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM send_events
             WHERE id IN (SELECT id FROM send_events
                          WHERE at <= (SELECT now FROM clock) - $1
                          ORDER BY at LIMIT $2)
             RETURNING (SELECT now FROM clock) - at - $1",
};

/// The counts of windows that are over.
pub(super) const COUNTS: Sql = Sql {
    postgres: "DELETE FROM send_counts
               WHERE (what, subject, window_ms, slot) IN (
                   SELECT what, subject, window_ms, slot FROM send_counts
                   WHERE ends_at <= now() - $1 * interval '1 millisecond'
                   ORDER BY ends_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - ends_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM send_counts
             WHERE (what, subject, window_ms, slot) IN (
                 SELECT what, subject, window_ms, slot FROM send_counts
                 WHERE ends_at <= (SELECT now FROM clock) - $1
                 ORDER BY ends_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - ends_at - $1",
};

/// Finished sends and guards, and guards that were released. An uncertain one stays until
/// it is settled.
pub(super) const INTENTS: Sql = Sql {
    postgres: "DELETE FROM sends
               WHERE id IN (SELECT id FROM sends
                            WHERE created_at <= now() - $1 * interval '1 millisecond'
                              AND (state IN ('sent', 'failed', 'cancelled')
                                   OR (state = 'ready' AND kind = 'guard'))
                            ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM sends
             WHERE id IN (SELECT id FROM sends
                          WHERE created_at <= (SELECT now FROM clock) - $1
                            AND (state IN ('sent', 'failed', 'cancelled')
                                 OR (state = 'ready' AND kind = 'guard'))
                          ORDER BY created_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - created_at - $1",
};

/// Requests for guards that no client repeats any more.
pub(super) const GUARD_REQUESTS: Sql = Sql {
    postgres: "DELETE FROM guard_requests
               WHERE (consumer, idempotency_key) IN (
                   SELECT consumer, idempotency_key FROM guard_requests
                   WHERE created_at <= now() - $1 * interval '1 millisecond'
                   ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM guard_requests
             WHERE (consumer, idempotency_key) IN (
                 SELECT consumer, idempotency_key FROM guard_requests
                 WHERE created_at <= (SELECT now FROM clock) - $1
                 ORDER BY created_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - created_at - $1",
};

/// Requests for sends that no client repeats any more.
pub(super) const REQUESTS: Sql = Sql {
    postgres: "DELETE FROM send_requests
               WHERE (consumer, idempotency_key) IN (
                   SELECT consumer, idempotency_key FROM send_requests
                   WHERE created_at <= now() - $1 * interval '1 millisecond'
                   ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM send_requests
             WHERE (consumer, idempotency_key) IN (
                 SELECT consumer, idempotency_key FROM send_requests
                 WHERE created_at <= (SELECT now FROM clock) - $1
                 ORDER BY created_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - created_at - $1",
};

/// Threads without a reply for as long as intents are kept. One that was handed over stays
/// until it is released.
pub(super) const THREADS: Sql = Sql {
    postgres: "DELETE FROM threads
               WHERE id IN (SELECT id FROM threads
                            WHERE created_at <= now() - $1 * interval '1 millisecond'
                              AND state = 'open'
                              AND coalesce(last_ours, created_at)
                                  <= now() - $1 * interval '1 millisecond'
                            ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM threads
             WHERE id IN (SELECT id FROM threads
                          WHERE created_at <= (SELECT now FROM clock) - $1
                            AND state = 'open'
                            AND coalesce(last_ours, created_at) <= (SELECT now FROM clock) - $1
                          ORDER BY created_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - created_at - $1",
};
