//! How many replies a thread and a person may get.

use std::time::Duration;

use pipeline::NewReply;

use crate::backend::{Backend, Connection, Sql, query};
use crate::fault::Fault;
use crate::stored::{count, millis};

const DAY: Duration = Duration::from_hours(24);

/// Why the reply that was just inserted is one too many. The thread is locked, so its
/// count is exact. Replies from before a release do not count.
pub(super) async fn exceeded<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
) -> Result<Option<&'static str>, Fault> {
    let caps = &reply.caps;
    for (window, most, reason) in [
        (caps.burst_window, caps.burst, "thread_burst"),
        (DAY, caps.day, "thread_day"),
    ] {
        if in_thread::<B>(connection, reply, window).await? > u64::from(most) {
            return Ok(Some(reason));
        }
    }
    for (window, most, reason) in [
        (caps.burst_window, caps.person_burst, "person_burst"),
        (DAY, caps.person_day, "person_day"),
    ] {
        if to_person::<B>(connection, reply, window).await? > u64::from(most) {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

async fn in_thread<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
    window: Duration,
) -> Result<u64, Fault> {
    let number: Option<i64> = query::<B>(Sql {
        postgres: "SELECT count(*) FROM sends s JOIN threads t ON t.id = s.thread
                   WHERE s.thread = $1 AND s.state NOT IN ('failed', 'cancelled')
                     AND s.created_at > clock_timestamp() - $2 * interval '1 millisecond'
                     AND s.created_at > coalesce(t.released_at, '-infinity')",
        sqlite: "SELECT count(*) FROM sends s JOIN threads t ON t.id = s.thread
                 WHERE s.thread = $1 AND s.state NOT IN ('failed', 'cancelled')
                   AND s.created_at > (SELECT now FROM clock) - $2
                   AND s.created_at > coalesce(t.released_at, 0)",
    })
    .bind(reply.thread.0.as_uuid())
    .bind(millis(window))
    .scalar(connection)
    .await?;
    Ok(number.map_or(0, count))
}

/// Two threads of one person may be counted at the same moment, each without the other's
/// last reply. So this count may be exceeded by as many as there are threads; a cap of
/// each thread is exact.
async fn to_person<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
    window: Duration,
) -> Result<u64, Fault> {
    let number: Option<i64> = query::<B>(Sql {
        postgres: "SELECT count(*) FROM threads t JOIN sends s ON s.thread = t.id
                   WHERE t.person = $1 AND s.state NOT IN ('failed', 'cancelled')
                     AND s.created_at > clock_timestamp() - $2 * interval '1 millisecond'
                     AND s.created_at > coalesce(
                         (SELECT max(released_at) FROM threads WHERE person = $1), '-infinity')",
        sqlite: "SELECT count(*) FROM threads t JOIN sends s ON s.thread = t.id
                 WHERE t.person = $1 AND s.state NOT IN ('failed', 'cancelled')
                   AND s.created_at > (SELECT now FROM clock) - $2
                   AND s.created_at > coalesce(
                       (SELECT max(released_at) FROM threads WHERE person = $1), 0)",
    })
    .bind(&reply.thread.1[..])
    .bind(millis(window))
    .scalar(connection)
    .await?;
    Ok(number.map_or(0, count))
}
