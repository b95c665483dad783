//! Waits for the server to announce new mail (RFC 2177).

use std::time::Duration;

use async_imap::extensions::idle::IdleResponse;
use pipeline::Timestamp;
use tokio::time::{sleep, timeout};

use super::{Imap, unavailable};
use crate::client::PollError;
use crate::client::imap_login::Mailbox;

/// The shortest time between two announcements of a server.
const LEAST_PAUSE: Duration = Duration::from_millis(200);
/// How long one `IDLE` lasts.
const IDLE: Duration = Duration::from_mins(25);

impl Imap {
    /// Waits until there may be a new mail.
    pub(super) async fn idle(
        &self,
        mut session: Mailbox,
        cursor: &str,
        now: Timestamp,
    ) -> Result<Mailbox, PollError> {
        let mut is_announced = false;
        loop {
            let examined = timeout(self.answer_budget, self.examine(&mut session, cursor, now));
            let (position, extent) = examined.await.or_else(unavailable)??;
            if extent
                .uid_next
                .map_or(is_announced, |uid| uid > position.next)
            {
                return Ok(session);
            }
            let mut handle = session.idle();
            handle.init().await.or_else(unavailable)?;
            let (wait, _interrupt) = handle.wait_with_timeout(IDLE);
            is_announced = match wait.await.or_else(unavailable)? {
                IdleResponse::NewData(_) => true,
                IdleResponse::Timeout => false,
                IdleResponse::ManualInterrupt => return Err(PollError::Unavailable),
            };
            session = handle.done().await.or_else(unavailable)?;
            sleep(LEAST_PAUSE).await;
        }
    }
}
