//! What comes back of a mail that was sent here: a copy, or the provider's event.

use async_trait::async_trait;
use pipeline::{
    EchoClues, EchoLog, ProviderKey, Receipt, SendId, SendState, SendWritten, StoreError,
};
use uuid::Uuid;

use super::proof::prove;
use crate::backend::{Backend, Sql, query};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> EchoLog for Database<B> {
    async fn recognise(&self, clues: &EchoClues) -> Result<SendWritten, StoreError> {
        let clues = clues.clone();
        self.run(SHORT, |session| note(session, clues, None)).await
    }

    async fn prove_sent(
        &self,
        key: ProviderKey,
        receipt: Option<Receipt>,
    ) -> Result<SendWritten, StoreError> {
        let clues = EchoClues {
            key: Some(key.to_string()),
            ..EchoClues::default()
        };
        self.run(SHORT, |session| note(session, clues, receipt))
            .await
    }
}

/// Finds the send that is meant and, if it is not known as sent, writes that it was.
async fn note<B: Backend>(
    session: Session<B>,
    clues: EchoClues,
    receipt: Option<Receipt>,
) -> Result<SendWritten, Fault> {
    let Some((id, state, is_proof)) = find(&session, clues).await? else {
        return Ok(SendWritten::Lost);
    };
    if state == SendState::Sent || !is_proof {
        return Ok(SendWritten::Done(state));
    }
    let mut transaction = session.begin().await?;
    let written = prove::<B>(&mut transaction, id, receipt.as_ref(), None).await?;
    transaction.commit().await?;
    session.announce(&SendId::from_uuid(id).to_string());
    Ok(match written {
        // It was dispatched; nothing had told that it was accepted.
        SendWritten::Done(_) => SendWritten::Late(state),
        other => other,
    })
}

/// The send, its state, and whether the clue proves that it was accepted. The key of a
/// guard is handed to an agent, so it proves nothing.
async fn find<B: Backend>(
    session: &Session<B>,
    clues: EchoClues,
) -> Result<Option<(Uuid, SendState, bool)>, Fault> {
    // Anything but a key finds nothing.
    let key: Option<ProviderKey> = clues.key.as_deref().and_then(ProviderKey::from_text);
    let found: Option<(Uuid, String, bool)> = query::<B>(Sql::both(
        "SELECT id, state, is_proof
         FROM (SELECT id, state, kind = 'send' AS is_proof FROM sends WHERE provider_key = $1
               UNION ALL SELECT id, state, kind = 'send' FROM sends WHERE message_id = $2
               UNION ALL SELECT id, state, false FROM sends WHERE receipt = $3) AS found
         ORDER BY is_proof DESC LIMIT 1",
    ))
    .bind(key.map(|key| key.as_bytes().to_vec()))
    .bind(clues.message_id)
    .bind(clues.provider_id)
    .fetch_optional(&mut *session.reader().await?)
    .await?;
    let Some((id, state, is_proof)) = found else {
        return Ok(None);
    };
    let state = SendState::from_word(&state).ok_or(Fault::Damaged("state"))?;
    Ok(Some((id, state, is_proof)))
}
