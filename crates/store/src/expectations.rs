//! What is expected at addresses, for workers that read mails sent there.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use pipeline::{AttemptId, Expectation, InboxId, OpenAttempt};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::List;
use crate::database::Session;
use crate::fault::Fault;
use crate::inboxes;
use crate::waiting::{InboxRow, RulesRow, nothing_expected};

/// Looks up the addresses of several mails, in their order. An address stands for the
/// inbox of that very name, or else for the one without its tag.
pub(crate) async fn expectations<B: Backend>(
    session: Session<B>,
    mails: Arc<Vec<Vec<InboxId>>>,
) -> Result<Vec<Vec<Expectation>>, Fault> {
    let addresses = mails.iter().flatten();
    let names = addresses.flat_map(|it| [it.clone(), it.untagged()]);
    let names: BTreeSet<String> = names.map(|it| it.as_str().to_owned()).collect();
    if names.is_empty() {
        return Ok(vec![Vec::new(); mails.len()]);
    }
    let mut connection = session.reader().await?;
    let rows = inboxes::find_all::<B>(&mut connection, names.into_iter().collect()).await?;
    let rows: HashMap<&str, &InboxRow> = rows.iter().map(|row| (row.inbox.as_str(), row)).collect();
    let row_of = |address: &InboxId| {
        let row = rows.get(address.as_str()).copied();
        row.or_else(|| rows.get(address.untagged().as_str()).copied())
    };
    let meant = mails.iter().flatten().filter_map(row_of);
    let meant: BTreeSet<&str> = meant.map(|row| row.inbox.as_str()).collect();
    let attempts = open_attempts::<B>(&mut connection, meant).await?;
    let expectation = |address: &InboxId| match row_of(address) {
        Some(row) => {
            let attempts = attempts.get(&row.inbox).cloned().unwrap_or_default();
            row.expectation(address.clone(), attempts)
        }
        None => Ok(nothing_expected(address.clone())),
    };
    let of_mail = |mail: &Vec<InboxId>| mail.iter().map(expectation).collect();
    mails.iter().map(of_mail).collect()
}

/// The attempts that wait at these inboxes. Mail that was received before a deadline may
/// be read after it. Which attempt gets the mail is decided by the time of receipt, when
/// the mail is written.
async fn open_attempts<B: Backend>(
    connection: &mut Connection<B>,
    inboxes: BTreeSet<&str>,
) -> Result<HashMap<String, Vec<OpenAttempt>>, Fault> {
    let mut attempts: HashMap<String, Vec<OpenAttempt>> = HashMap::new();
    if inboxes.is_empty() {
        return Ok(attempts);
    }
    let inboxes = inboxes.into_iter().map(str::to_owned).collect();
    let rows: Vec<OpenRow> = query::<B>(Sql {
        postgres:
            "SELECT id, inbox, wanted, senders, needs_proof, links, token, expected FROM attempts
             WHERE inbox = ANY($1) AND outcome IS NULL AND deadline > now() - interval '1 hour'
             ORDER BY opened_at, id",
        sqlite:
            "SELECT id, inbox, wanted, senders, needs_proof, links, token, expected FROM attempts
             WHERE inbox IN (SELECT value FROM json_each($1)) AND outcome IS NULL
               AND deadline > (SELECT now FROM clock) - 3600000
             ORDER BY opened_at, id",
    })
    .bind(List(inboxes))
    .fetch_all(connection)
    .await?;
    for row in rows {
        let attempt = OpenAttempt {
            id: AttemptId::from_uuid(row.id),
            rules: row.rules.try_into()?,
        };
        attempts.entry(row.inbox).or_default().push(attempt);
    }
    Ok(attempts)
}

row! {
    struct OpenRow {
        id: Uuid,
        inbox: String,
        ..rules: RulesRow
    }
}
