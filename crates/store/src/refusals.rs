//! Counts of refused posts, in slots of five minutes.

use async_trait::async_trait;
use pipeline::{Reason, RefusalLog, Refusals, StoreError};

use crate::backend::{Backend, Sql, query, row};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::stored::{count, source};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> RefusalLog for Database<B> {
    async fn add_refusals(&self, refusals: Vec<Refusals>) -> Result<(), StoreError> {
        self.run(SHORT, |session| add(session, refusals)).await
    }

    async fn recent_refusals(&self) -> Result<Vec<Refusals>, StoreError> {
        self.run(SHORT, recent).await
    }
}

async fn add<B: Backend>(session: Session<B>, mut refusals: Vec<Refusals>) -> Result<(), Fault> {
    // Two processes that add the same rows lock them in the same order.
    refusals.sort_by(|a, b| (&a.source, a.reason.as_str()).cmp(&(&b.source, b.reason.as_str())));
    let mut transaction = session.begin().await?;
    for one in refusals {
        query::<B>(Sql {
            postgres: "INSERT INTO refusals (source, reason, slot, posts, seconds_old)
                       VALUES ($1, $2,
                               floor(extract(epoch FROM clock_timestamp()) / 300)::bigint, $3, $4)
                       ON CONFLICT (source, reason, slot) DO UPDATE
                       SET posts = refusals.posts + excluded.posts,
                           seconds_old = coalesce(excluded.seconds_old, refusals.seconds_old)",
            sqlite: "INSERT INTO refusals (source, reason, slot, posts, seconds_old)
                     SELECT $1, $2, now / 300000, $3, $4 FROM clock WHERE true
                     ON CONFLICT (source, reason, slot) DO UPDATE
                     SET posts = refusals.posts + excluded.posts,
                         seconds_old = coalesce(excluded.seconds_old, refusals.seconds_old)",
        })
        .bind(one.source.map(|name| name.to_string()).unwrap_or_default())
        .bind(one.reason.as_str().to_owned())
        .bind(i64::try_from(one.posts).unwrap_or(i64::MAX))
        .bind(one.seconds_old)
        .execute(&mut transaction)
        .await?;
    }
    query::<B>(Sql {
        postgres: "DELETE FROM refusals
                   WHERE slot < floor(extract(epoch FROM clock_timestamp()) / 300)::bigint - 24",
        sqlite: "DELETE FROM refusals WHERE slot < (SELECT now / 300000 FROM clock) - 24",
    })
    .execute(&mut transaction)
    .await?;
    transaction.commit().await
}

row! {
    /// The posts of the last hour to one source, refused for one reason.
    struct RefusalRow {
        source: String,
        reason: String,
        posts: i64,
        seconds_old: Option<i64>,
    }
}

async fn recent<B: Backend>(session: Session<B>) -> Result<Vec<Refusals>, Fault> {
    let rows: Vec<RefusalRow> = query::<B>(Sql {
        postgres: "SELECT source, reason, sum(posts)::bigint AS posts,
                          (array_agg(seconds_old ORDER BY slot DESC))[1] AS seconds_old
                   FROM refusals
                   WHERE slot > floor(extract(epoch FROM clock_timestamp()) / 300)::bigint - 12
                   GROUP BY source, reason
                   ORDER BY posts DESC, source, reason",
        // SQLite takes the other columns from the row with the greatest slot.
        sqlite: "SELECT source, reason, sum(posts) AS posts, seconds_old, max(slot)
                 FROM refusals
                 WHERE slot > (SELECT now / 300000 FROM clock) - 12
                 GROUP BY source, reason
                 ORDER BY posts DESC, source, reason",
    })
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

impl TryFrom<RefusalRow> for Refusals {
    type Error = Fault;

    fn try_from(row: RefusalRow) -> Result<Self, Fault> {
        let is_named = !row.source.is_empty();
        Ok(Self {
            source: is_named.then(|| source(&row.source)).transpose()?,
            reason: Reason::from_stored(&row.reason),
            posts: count(row.posts),
            seconds_old: row.seconds_old,
        })
    }
}
