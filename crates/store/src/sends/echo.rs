//! Whether a mail is a copy of one that was sent here.

use async_trait::async_trait;
use pipeline::{EchoClues, EchoLog, StoreError};

use crate::backend::{Backend, Sql, query};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> EchoLog for Database<B> {
    async fn is_own(&self, clues: &EchoClues) -> Result<bool, StoreError> {
        let clues = clues.clone();
        self.run(SHORT, |session| is_own(session, clues)).await
    }
}

async fn is_own<B: Backend>(session: Session<B>, clues: EchoClues) -> Result<bool, Fault> {
    // `ml-` and hexadecimal digits; anything else finds nothing.
    let key = clues.key.as_deref().and_then(|key| key.strip_prefix("ml-"));
    let found: Option<i64> = query::<B>(Sql {
        postgres: "SELECT count(*) FROM (
                       SELECT 1 FROM sends WHERE provider_key = decode($1, 'hex')
                       UNION ALL SELECT 1 FROM sends WHERE message_id = $2
                       UNION ALL SELECT 1 FROM sends WHERE receipt = $3) AS found",
        sqlite: "SELECT count(*) FROM (
                     SELECT 1 FROM sends WHERE provider_key = unhex($1)
                     UNION ALL SELECT 1 FROM sends WHERE message_id = $2
                     UNION ALL SELECT 1 FROM sends WHERE receipt = $3)",
    })
    .bind(key.filter(|key| key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit())))
    .bind(clues.message_id)
    .bind(clues.provider_id)
    .scalar(&mut *session.reader().await?)
    .await?;
    Ok(found.is_some_and(|found| found > 0))
}
