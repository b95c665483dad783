//! The end of an inbox: expired by its owner, or replaced by another address.

use pipeline::{Created, InboxId, InboxView, Request, Scope};

use super::{find_locked, repeated};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::requests;
use crate::waiting::{InboxRow, inbox_columns};

pub(super) async fn expire<B: Backend>(
    session: Session<B>,
    inbox: InboxId,
    scope: Scope,
) -> Result<Option<InboxView>, Fault> {
    let mut transaction = session.begin().await?;
    let row = find_locked::<B>(&mut transaction, inbox.as_str()).await?;
    if !row.is_some_and(|row| scope.owns(row.owner.as_deref())) {
        transaction.rollback().await?;
        return Ok(None);
    }
    let expired = end::<B>(&mut transaction, &inbox).await?;
    transaction.commit().await?;
    session.announce(inbox.as_str());
    expired.map(TryInto::try_into).transpose()
}

/// One inbox to be replaced by another with the same rules.
pub(super) struct Rotation {
    pub(super) from: InboxId,
    pub(super) to: InboxId,
    pub(super) scope: Scope,
    pub(super) asked: Option<Request>,
}

/// Of two rotations at once one replaces the inbox, and the other finds it expired.
pub(super) async fn rotate<B: Backend>(
    session: Session<B>,
    rotation: Rotation,
) -> Result<Created<InboxView>, Fault> {
    let Rotation {
        from,
        to,
        scope,
        asked,
    } = rotation;
    let mut transaction = session.begin().await?;
    let noted = requests::note::<B>(&mut transaction, asked.as_ref(), to.as_str()).await?;
    if let Some(repeated) = repeated::<B>(&mut transaction, noted).await? {
        transaction.rollback().await?;
        return Ok(repeated);
    }
    let before = find_locked::<B>(&mut transaction, from.as_str()).await?;
    let before = before.filter(|row| !row.is_expired && scope.owns(row.owner.as_deref()));
    let Some(before) = before else {
        transaction.rollback().await?;
        return Ok(Created::Refused);
    };
    end::<B>(&mut transaction, &from).await?;
    let row = insert_copy::<B>(&mut transaction, &before, &to).await?;
    let Some(row) = row else {
        transaction.rollback().await?;
        return Ok(Created::Refused);
    };
    transaction.commit().await?;
    session.announce(from.as_str());
    Ok(Created::New(row.try_into()?))
}

/// Inserts an inbox with the rules of another. It expires when the other would have.
async fn insert_copy<B: Backend>(
    connection: &mut Connection<B>,
    before: &InboxRow,
    to: &InboxId,
) -> Result<Option<InboxRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "INSERT INTO inboxes
                 (inbox, owner, senders, links, lifetime_ms, retention_ms, metadata,
                  needs_proof, inbound_rules, expires_at, created_at)
             SELECT $2, owner, senders, links, lifetime_ms, retention_ms, metadata,
                    needs_proof, inbound_rules, $3, clock_timestamp()
             FROM inboxes WHERE inbox = $1
             ON CONFLICT (inbox) DO NOTHING
             RETURNING ",
            inbox_columns!(),
            ", false AS is_expired"
        ),
        sqlite: concat!(
            "INSERT INTO inboxes
                 (inbox, owner, senders, links, lifetime_ms, retention_ms, metadata,
                  needs_proof, inbound_rules, expires_at, created_at)
             SELECT $2, owner, senders, links, lifetime_ms, retention_ms, metadata,
                    needs_proof, inbound_rules, $3, (SELECT now FROM clock)
             FROM inboxes WHERE inbox = $1
             ON CONFLICT (inbox) DO NOTHING
             RETURNING ",
            inbox_columns!(),
            ", false AS is_expired"
        ),
    })
    .bind(before.inbox.as_str())
    .bind(to.as_str())
    .bind(before.expires_at)
    .fetch_optional(connection)
    .await
}

/// Ends an inbox now and notifies its watchers; one that has ended keeps its time.
async fn end<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &InboxId,
) -> Result<Option<InboxRow>, Fault> {
    query::<B>(Sql {
        postgres: concat!(
            "UPDATE inboxes SET expires_at = least(expires_at, clock_timestamp())
             WHERE inbox = $1
             RETURNING ",
            inbox_columns!(),
            ", true AS is_expired, pg_notify('maillatch_arrivals', inbox)"
        ),
        sqlite: concat!(
            "UPDATE inboxes SET expires_at = min(coalesce(expires_at, now), now)
             FROM clock WHERE inbox = $1
             RETURNING ",
            inbox_columns!(),
            ", true AS is_expired"
        ),
    })
    .bind(inbox.as_str())
    .fetch_optional(connection)
    .await
}
