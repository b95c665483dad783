//! Guards: the permission to act, given to one caller at a time.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ClaimToken, GuardClaim, GuardClaimed, GuardId, GuardLog, GuardReported, GuardRequest, Receipt,
    Request, SendKind, SendState, SendView, StoreError,
};
use uuid::Uuid;

use super::event::Event;
use super::report::{Report, report};
use super::requests::GUARDS;
use super::row::{SendRow, end_lease, find, lock_intent};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::requests::Noted;
use crate::stored::{millis, span};
use crate::uncancelled::SHORT;

/// When a send with the intent is on its way, its state is worth asking for again after
/// this time.
const SEND_UNDER_WAY: Duration = Duration::from_secs(5);

#[async_trait]
impl<B: Backend> GuardLog for Database<B> {
    async fn claim_guard(&self, request: GuardRequest) -> Result<GuardClaimed, StoreError> {
        self.run(SHORT, |session| claim(session, request)).await
    }

    async fn confirm_guard(
        &self,
        guard: GuardId,
        token: ClaimToken,
        receipt: Option<Receipt>,
    ) -> Result<GuardReported, StoreError> {
        self.run(SHORT, move |session| {
            report(session, guard, token, Report::Confirm(receipt))
        })
        .await
    }

    async fn release_guard(
        &self,
        guard: GuardId,
        token: ClaimToken,
    ) -> Result<GuardReported, StoreError> {
        self.run(SHORT, move |session| {
            report(session, guard, token, Report::Release)
        })
        .await
    }

    async fn extend_guard(
        &self,
        guard: GuardId,
        token: ClaimToken,
        lease: Duration,
    ) -> Result<GuardReported, StoreError> {
        self.run(SHORT, move |session| {
            report(session, guard, token, Report::Extend(lease))
        })
        .await
    }

    async fn guard(&self, guard: GuardId) -> Result<Option<SendView>, StoreError> {
        self.run(SHORT, move |session| async move {
            let row = find::<B>(&mut *session.reader().await?, guard.as_uuid()).await?;
            let view = row.map(SendRow::view).transpose()?;
            Ok(view.filter(|view| view.kind == SendKind::Guard))
        })
        .await
    }
}

async fn claim<B: Backend>(
    session: Session<B>,
    request: GuardRequest,
) -> Result<GuardClaimed, Fault> {
    let mut transaction = session.begin().await?;
    let claimed = claim_in::<B>(&mut transaction, &request).await?;
    // Whatever is answered, the end of a lease is stored.
    transaction.commit().await?;
    Ok(claimed)
}

/// Claims under the unique key of the request, and then under that of the intent.
async fn claim_in<B: Backend>(
    connection: &mut Connection<B>,
    request: &GuardRequest,
) -> Result<GuardClaimed, Fault> {
    let (id, token) = (GuardId::new(), ClaimToken::new());
    let asked = request.asked.as_ref();
    let made = id.to_string();
    let is_repeated = match GUARDS.note::<B>(connection, asked, &made).await? {
        Noted::New => false,
        // What it made is found by its intent.
        Noted::Before(_) => true,
        Noted::Reused => return Ok(GuardClaimed::KeyReused),
    };
    if let Some(row) = insert::<B>(connection, id.as_uuid(), request, token).await? {
        return yours(row, token);
    }
    let row = lock_intent::<B>(connection, request.sender.as_str(), &request.key).await?;
    // Retention deleted the row in between; the caller asks again.
    let row = row.ok_or(Fault::Conflict)?;
    let claimed = claim_known::<B>(connection, row, request, token, is_repeated).await?;
    if !is_repeated {
        remember::<B>(connection, asked, &claimed).await?;
    }
    Ok(claimed)
}

/// Keeps a new request with the guard that it was answered with. One that is refused is
/// forgotten.
async fn remember<B: Backend>(
    connection: &mut Connection<B>,
    asked: Option<&Request>,
    claimed: &GuardClaimed,
) -> Result<(), Fault> {
    let view = match claimed {
        GuardClaimed::Yours(claim) | GuardClaimed::Again(claim) => &claim.guard,
        GuardClaimed::AlreadyDone(view, _) => view,
        GuardClaimed::InProgress(..)
        | GuardClaimed::Uncertain(_)
        | GuardClaimed::Closed(_)
        | GuardClaimed::KeyReused => return GUARDS.forget::<B>(connection, asked).await,
    };
    let known = match view.kind {
        SendKind::Guard => GuardId::from_uuid(view.id.as_uuid()).to_string(),
        SendKind::Send => view.id.to_string(),
    };
    GUARDS.correct::<B>(connection, asked, &known).await
}

/// Inserts the guard as claimed, unless the intent is known. The unique key decides.
async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    request: &GuardRequest,
    token: ClaimToken,
) -> Result<Option<SendRow>, Fault> {
    let label = request.label.as_ref();
    let written = query::<B>(Sql {
        postgres: "INSERT INTO sends (id, kind, sender, action, intent_key, provider_key,
                       intent_type, entity, version, state, tries, claim_token, lease_until,
                       asked, first_dispatched_at, asked_by, created_at)
                   SELECT $1, 'guard', $2, $3, $4, $5, $6, $7, $8, 'dispatched', 1, $9,
                          now + $10 * interval '1 millisecond', $11, now, $12, now
                   FROM clock_timestamp() AS now
                   ON CONFLICT (sender, intent_key) DO NOTHING",
        sqlite: "INSERT INTO sends (id, kind, sender, action, intent_key, provider_key,
                     intent_type, entity, version, state, tries, claim_token, lease_until,
                     asked, first_dispatched_at, asked_by, created_at)
                 SELECT $1, 'guard', $2, $3, $4, $5, $6, $7, $8, 'dispatched', 1, $9,
                        now + $10, $11, now, $12, now
                 FROM clock WHERE true
                 ON CONFLICT (sender, intent_key) DO NOTHING",
    })
    .bind(id)
    .bind(request.sender.as_str())
    .bind(request.action.as_str())
    .bind(&request.key.intent_key()[..])
    .bind(&request.key.as_bytes()[..])
    .bind(label.map(|label| label.kind.as_str()))
    .bind(label.map(|label| label.entity.as_str()))
    .bind(label.map(|label| i64::from(label.version)))
    .bind(token.as_uuid())
    .bind(millis(request.lease))
    .bind(tag(request))
    .bind(request.by.as_str())
    .execute(connection)
    .await?;
    if written == 0 {
        return Ok(None);
    }
    note_claim::<B>(connection, id, request, token).await?;
    find::<B>(connection, id).await
}

/// Decides about an intent whose row is locked.
async fn claim_known<B: Backend>(
    connection: &mut Connection<B>,
    row: SendRow,
    request: &GuardRequest,
    token: ClaimToken,
    is_repeated: bool,
) -> Result<GuardClaimed, Fault> {
    end_lease::<B>(connection, &row).await?;
    let (kind, state) = (row.kind()?, row.state()?);
    let remaining = span(row.lease_ms.unwrap_or(0));
    Ok(match (kind, state) {
        (SendKind::Guard, SendState::Ready) => {
            claim_released::<B>(connection, row.id, request, token).await?
        }
        (SendKind::Guard, SendState::Dispatched) => {
            let is_same = request.asked.is_some() && row.asked.as_deref() == tag(request);
            let held = row.claim_token.map(ClaimToken::from_uuid);
            match held.filter(|_| is_same) {
                Some(token) => GuardClaimed::Again(GuardClaim {
                    guard: row.view()?,
                    token,
                    remaining,
                }),
                None => GuardClaimed::InProgress(row.view()?, remaining),
            }
        }
        (_, SendState::Uncertain) => GuardClaimed::Uncertain(row.view()?),
        (_, SendState::Sent) => GuardClaimed::AlreadyDone(row.view()?, is_repeated),
        (_, SendState::Failed | SendState::Cancelled) => GuardClaimed::Closed(row.view()?),
        (_, SendState::Held | SendState::Ready | SendState::Claimed | SendState::Dispatched) => {
            GuardClaimed::InProgress(row.view()?, SEND_UNDER_WAY)
        }
    })
}

/// Claims a guard that its last holder released.
async fn claim_released<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    request: &GuardRequest,
    token: ClaimToken,
) -> Result<GuardClaimed, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'dispatched', tries = tries + 1, claim_token = $2, asked = $4,
                       reason = NULL,
                       lease_until = clock_timestamp() + $3 * interval '1 millisecond'
                   WHERE id = $1 AND state = 'ready'",
        sqlite: "UPDATE sends
                 SET state = 'dispatched', tries = tries + 1, claim_token = $2, asked = $4,
                     reason = NULL, lease_until = (SELECT now FROM clock) + $3
                 WHERE id = $1 AND state = 'ready'",
    })
    .bind(id)
    .bind(token.as_uuid())
    .bind(millis(request.lease))
    .bind(tag(request))
    .execute(connection)
    .await?;
    let row = find::<B>(connection, id).await?.ok_or(Fault::Conflict)?;
    if written == 0 {
        return Err(Fault::Conflict);
    }
    note_claim::<B>(connection, id, request, token).await?;
    yours(row, token)
}

async fn note_claim<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    request: &GuardRequest,
    token: ClaimToken,
) -> Result<(), Fault> {
    Event::new("claimed")
        .by(request.by.as_str())
        .with_token(token.as_uuid())
        .add::<B>(connection, id)
        .await
}

/// What the row of a guard keeps of the request that holds it.
fn tag(request: &GuardRequest) -> Option<&[u8]> {
    request.asked.as_ref().map(|asked| &asked.tag[..])
}

fn yours(row: SendRow, token: ClaimToken) -> Result<GuardClaimed, Fault> {
    let remaining = span(row.lease_ms.unwrap_or(0));
    Ok(GuardClaimed::Yours(GuardClaim {
        guard: row.view()?,
        token,
        remaining,
    }))
}
