//! The rules of an inbox for its own mail.

use pipeline::{InboundRule, InboxId, Scope};

use super::{find, find_all, find_locked};
use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::fault::Fault;

pub(super) async fn read<B: Backend>(
    session: Session<B>,
    inbox: InboxId,
    scope: Scope,
) -> Result<Option<Vec<InboundRule>>, Fault> {
    let row = find::<B>(&mut *session.reader().await?, inbox.as_str()).await?;
    let row = row.filter(|row| scope.covers(&inbox, row.owner.as_deref()));
    row.map(|row| row.inbound()).transpose()
}

/// Replaces the rules. Who owns an inbox may route its mail to inboxes that it owns, too.
pub(super) async fn set<B: Backend>(
    session: Session<B>,
    inbox: InboxId,
    scope: Scope,
    rules: Vec<InboundRule>,
) -> Result<bool, Fault> {
    let mut transaction = session.begin().await?;
    let row = find_locked::<B>(&mut transaction, inbox.as_str()).await?;
    let is_own = row.is_some_and(|row| scope.owns(row.owner.as_deref()));
    let mut targets: Vec<String> = rules
        .iter()
        .filter_map(InboundRule::route)
        .map(ToString::to_string)
        .collect();
    targets.sort();
    targets.dedup();
    let wanted = targets.len();
    let found = find_all::<B>(&mut transaction, targets).await?;
    let owned = found.iter().filter(|row| scope.owns(row.owner.as_deref()));
    if !is_own || owned.count() != wanted {
        transaction.rollback().await?;
        return Ok(false);
    }
    let text = serde_json::to_string(&rules).or(Err(Fault::Damaged("inbound_rules")))?;
    query::<B>(Sql::both(
        "UPDATE inboxes SET inbound_rules = $2 WHERE inbox = $1",
    ))
    .bind(inbox.as_str())
    .bind((!rules.is_empty()).then_some(text))
    .execute(&mut transaction)
    .await?;
    transaction.commit().await?;
    Ok(true)
}
