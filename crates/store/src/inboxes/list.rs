//! Lists the inboxes that a key may see.

use pipeline::{InboxView, Scope};

use crate::backend::{Backend, Sql, query};
use crate::column::List;
use crate::database::Session;
use crate::fault::Fault;
use crate::waiting::{InboxRow, inbox_columns};

pub(super) async fn list<B: Backend>(
    session: Session<B>,
    scope: Scope,
    after: String,
    limit: u32,
) -> Result<Vec<InboxView>, Fault> {
    let (is_all, owner, others) = match &scope {
        Scope::All => (true, "", Vec::new()),
        Scope::Own { owner, others } => {
            let others = others.iter().map(|inbox| inbox.as_str().to_owned());
            (false, owner.as_str(), others.collect())
        }
    };
    // Each part has its own index. One condition with OR would read the whole table.
    let rows: Vec<InboxRow> = query::<B>(Sql {
        postgres: concat!(
            "SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= now(), false) AS is_expired
             FROM inboxes
             WHERE inbox IN (
                 SELECT inbox FROM (SELECT inbox FROM inboxes WHERE $2 AND inbox > $1
                                    ORDER BY inbox LIMIT $5) AS every
                 UNION ALL
                 SELECT inbox FROM (SELECT inbox FROM inboxes
                                    WHERE NOT $2 AND owner = $3 AND inbox > $1
                                    ORDER BY inbox LIMIT $5) AS own
                 UNION ALL
                 SELECT inbox FROM inboxes WHERE NOT $2 AND inbox = ANY($4) AND inbox > $1)
             ORDER BY inbox
             LIMIT $5"
        ),
        sqlite: concat!(
            "SELECT ",
            inbox_columns!(),
            ", coalesce(expires_at <= (SELECT now FROM clock), false) AS is_expired
             FROM inboxes
             WHERE inbox IN (
                 SELECT inbox FROM (SELECT inbox FROM inboxes WHERE $2 AND inbox > $1
                                    ORDER BY inbox LIMIT $5) AS every
                 UNION ALL
                 SELECT inbox FROM (SELECT inbox FROM inboxes
                                    WHERE NOT $2 AND owner = $3 AND inbox > $1
                                    ORDER BY inbox LIMIT $5) AS own
                 UNION ALL
                 SELECT inbox FROM inboxes
                 WHERE NOT $2 AND inbox IN (SELECT value FROM json_each($4)) AND inbox > $1)
             ORDER BY inbox
             LIMIT $5"
        ),
    })
    .bind(after)
    .bind(is_all)
    .bind(owner)
    .bind(List(others))
    .bind(i64::from(limit))
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
