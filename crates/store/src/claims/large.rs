//! Bodies of claimed deliveries. Many deliveries are claimed at once, so large bodies
//! are read one by one, and few of them are held at a time.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{BodyLoan, Claim, Claimed, StoreError, StoredDelivery};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

use super::ClaimedRow;
use super::give_back::{GivenBack, give_back};
use crate::backend::{Backend, Sql, query};
use crate::backlog::BeingRead;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::seal::{Keyring, Row};
use crate::stored::source;
use crate::uncancelled::SHORT;

/// A sealed body of more bytes is large.
pub(crate) const BYTES: i64 = 256 * 1024;

/// How many large bodies the workers of a process may hold at once.
const AT_ONCE: usize = 4;

/// How long a claim waits until a large body may be read. After that it is given back,
/// long before its lease expires, and tried again after the same time.
const WAIT: Duration = Duration::from_secs(1);

/// Who may hold large bodies.
pub(crate) struct LargeBodies {
    loans: Arc<Semaphore>,
}

impl Default for LargeBodies {
    fn default() -> Self {
        Self {
            loans: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl LargeBodies {
    /// Unseals the body of a delivery that was claimed, after reading it if it is large.
    pub(crate) async fn open<B: Backend>(
        &self,
        database: &Database<B>,
        claim: Claim,
        mut row: ClaimedRow,
        being_read: BeingRead,
    ) -> Result<Claimed, StoreError> {
        let (body, loan) = if let Some(body) = row.body.take() {
            (body, None)
        } else {
            let lent = timeout(WAIT, Arc::clone(&self.loans).acquire_owned()).await;
            let Ok(Ok(loan)) = lent else {
                let claim = GivenBack::of(&claim);
                let given_back = database.run(SHORT, |session| give_back(session, claim, WAIT));
                given_back.await?;
                return Ok(Claimed::NotNow);
            };
            let delivery = claim.delivery.as_uuid();
            let body = database.run(SHORT, |session| read(session, delivery));
            (body.await?, Some(loan))
        };
        let keyring = &database.session.secrets.keyring;
        Ok(unseal(claim, row, &body, (loan, being_read), keyring)?)
    }
}

async fn read<B: Backend>(session: Session<B>, delivery: Uuid) -> Result<Vec<u8>, Fault> {
    let body: Option<Option<Vec<u8>>> =
        query::<B>(Sql::both("SELECT body FROM deliveries WHERE id = $1"))
            .bind(delivery)
            .scalar(&mut *session.reader().await?)
            .await?;
    body.flatten().ok_or(Fault::Damaged("body"))
}

fn unseal(
    claim: Claim,
    row: ClaimedRow,
    body: &[u8],
    lent: (Option<OwnedSemaphorePermit>, BeingRead),
    keyring: &Keyring,
) -> Result<Claimed, Fault> {
    let sealed_row = Row::delivery(claim.delivery, &row.source);
    let body = match keyring.open_body(sealed_row, &row.body_key, body)? {
        Ok(body) => body,
        Err(why) => return Ok(Claimed::Unsealable(claim, why)),
    };
    let stored = StoredDelivery {
        id: claim.delivery,
        body,
        source: source(&row.source)?,
        content_type: row.content_type,
        recorded_at: row.recorded_at.into(),
        loan: BodyLoan::until_dropped(lent),
    };
    Ok(Claimed::Yours(claim, stored))
}
