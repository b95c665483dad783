//! Caps: how many sends a recipient, an API key and the installation may have.

use std::time::Duration;

use pipeline::{CapKind, SendCap};

use crate::backend::{Backend, Connection, Sql, query};
use crate::fault::Fault;
use crate::stored::{millis, span};

/// Counts a send in the transaction that records it. Returns the first cap that is
/// reached, and how long its window still lasts; the caller rolls back then.
///
/// The row of a window is locked until the commit, so a cap is exact.
pub(super) async fn count<B: Backend>(
    connection: &mut Connection<B>,
    caps: &[SendCap],
) -> Result<Option<(CapKind, Duration)>, Fault> {
    for cap in caps {
        let window = millis(cap.window).max(1);
        let counted: Option<i64> = query::<B>(Sql {
            postgres: "INSERT INTO send_counts (what, subject, window_ms, slot, count, ends_at)
                       SELECT $1, $2, $3, slot, 1,
                              to_timestamp(0) + (slot + 1) * $3 * interval '1 millisecond'
                       FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint / $3
                                    AS slot) AS moment
                       WHERE $4 > 0
                       ON CONFLICT (what, subject, window_ms, slot)
                       DO UPDATE SET count = send_counts.count + 1
                       WHERE send_counts.count < $4
                       RETURNING count",
            sqlite: "INSERT INTO send_counts (what, subject, window_ms, slot, count, ends_at)
                     SELECT $1, $2, $3, now / $3, 1, (now / $3 + 1) * $3 FROM clock
                     WHERE $4 > 0
                     ON CONFLICT (what, subject, window_ms, slot)
                     DO UPDATE SET count = send_counts.count + 1
                     WHERE send_counts.count < $4
                     RETURNING count",
        })
        .bind(cap.what.as_str())
        .bind(&cap.subject[..])
        .bind(window)
        .bind(i64::from(cap.most))
        .scalar(connection)
        .await?;
        if counted.is_none() {
            return Ok(Some((cap.what, left::<B>(connection, window).await?)));
        }
    }
    Ok(None)
}

/// How long the current window still lasts.
async fn left<B: Backend>(connection: &mut Connection<B>, window: i64) -> Result<Duration, Fault> {
    let left: Option<i64> = query::<B>(Sql {
        postgres: "SELECT $1 - (extract(epoch FROM clock_timestamp()) * 1000)::bigint % $1",
        sqlite: "SELECT $1 - now % $1 FROM clock",
    })
    .bind(window)
    .scalar(connection)
    .await?;
    Ok(span(left.unwrap_or(window)))
}
