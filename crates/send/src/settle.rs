//! Settles sends when it is unknown whether the provider accepted them.
//!
//! 1. Within the provider's window the same bytes are sent again under the same key: the
//!    provider recognises them, so there is one mail in any case.
//! 2. If that proves nothing, the provider is asked for the mail. That it is found is
//!    proof; that it is not found is none.
//! 3. Otherwise the send waits for the operator, unless the sender is configured to send
//!    once more. The store remembers that it may have been sent.
//!
//! Meanwhile the worker may find the proof: an event of the provider, or a copy of the mail
//! that comes back.

use std::time::Duration;

use pipeline::{ClaimedSend, Reason, Receipt, SendPermit, Settlement};
use tokio::time::Instant;

use crate::acceptance::{Acceptance, LookUp};
use crate::backoff::wait_after;
use crate::dispatch::Dispatch;
use crate::meters::OfSettlement;
use crate::patience::within;
use crate::prepared::Prepared;
use crate::settings::OnUncertain;

/// After this time a look-up finds nothing that it did not find before.
const LOOK_UPS_END: Duration = Duration::from_hours(3 * 24);

/// What was done to settle a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Replay,
    LookUp,
    Policy,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::LookUp => "look_up",
            Self::Policy => "policy",
        }
    }
}

impl Dispatch<'_> {
    /// Looks at one uncertain send.
    pub(crate) async fn settle(&self, send: ClaimedSend) {
        let transport = &self.sender.transport;
        let prepared = Prepared::read(&send.payload);
        let prepared = prepared.filter(|mail| mail.provider == transport.provider());
        let found = match prepared {
            Some(mail) => self.find_out(&send, &mail).await,
            // The sender has another provider now, which knows nothing of this mail.
            None => Some((By::Policy, hold("provider_changed"))),
        };
        let Some((by, settlement)) = found else {
            return;
        };
        let (outcome, reason) = words(&settlement);
        let label = OfSettlement {
            by: by.word(),
            outcome,
        };
        self.meters.settled.get_or_create(&label).inc();
        tracing::info!(
            send.id = %send.claim.send, sender = %self.sender.name, by = by.word(), outcome, reason,
            "checked an uncertain send"
        );
        match self.outbox.settle(send.claim, settlement).await {
            Ok(written) => self.meters.note_late(Some(written)),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(send.id = %send.claim.send, error, "an uncertain send could not be settled");
            }
        }
    }

    /// What can be found out; nothing if the claim is lost.
    async fn find_out(&self, send: &ClaimedSend, mail: &Prepared) -> Option<(By, Settlement)> {
        if let Some(window) = self.sender.transport.window() {
            let asked = Instant::now();
            let timeout = self.sender.transport.timeout();
            let permit = self.outbox.permit_replay(send.claim, timeout, window);
            match permit.await {
                Ok(SendPermit::Go) if asked.elapsed() < self.settings.lease_margin => {
                    return Some(self.replay_or_look_up(send, mail).await);
                }
                Ok(SendPermit::WindowOver) => {}
                Ok(SendPermit::Go | SendPermit::Lost) | Err(_) => return None,
            }
        }
        if self.sender.transport.can_look_up() {
            let found = self.sender.transport.look_up(mail, &send.key).await;
            return Some((By::LookUp, self.after_look_up(send, found)));
        }
        let settlement = match self.may_retry(send) {
            Some(true) => Settlement::Retry(Reason::new("retry_policy")),
            Some(false) => self.look_again(send, "not_proved"),
            None => hold("not_proved"),
        };
        Some((By::Policy, settlement))
    }

    /// Sends the same bytes again. If that proves nothing, the provider is asked for the
    /// mail: after a restored backup the bytes are other ones than those that it accepted,
    /// and not every provider says so.
    async fn replay_or_look_up(&self, send: &ClaimedSend, mail: &Prepared) -> (By, Settlement) {
        let replayed = self.replay(send, mail).await;
        let transport = &self.sender.transport;
        let is_open = matches!(replayed, Settlement::Unknown(..));
        if is_open
            && transport.can_look_up()
            && let LookUp::Sent { provider_id } = transport.look_up(mail, &send.key).await
        {
            let receipt = Receipt::from_provider(&provider_id);
            return (By::LookUp, Settlement::Sent(receipt));
        }
        (By::Replay, replayed)
    }

    /// Sends the same bytes again under the same key. Only an acceptance proves something:
    /// a refusal of the repetition says nothing about the first try.
    async fn replay(&self, send: &ClaimedSend, mail: &Prepared) -> Settlement {
        let transport = &self.sender.transport;
        let request = transport.hand_over(mail, &send.key);
        let acceptance = within(transport.timeout(), request).await;
        match acceptance {
            Some(Acceptance::Sent { provider_id }) => {
                Settlement::Sent(Receipt::from_provider(&provider_id))
            }
            Some(Acceptance::NotSent(not_sent)) => {
                let Settlement::Unknown(own, _) = self.look_again(send, "not_proved") else {
                    return hold("not_proved");
                };
                let wait = not_sent.wait.max(own);
                Settlement::Unknown(wait, not_sent.reason)
            }
            Some(Acceptance::Refused { .. }) => self.look_again(send, "refused_by_provider"),
            Some(Acceptance::Maybe { .. }) | None => self.look_again(send, "no_answer"),
        }
    }

    fn after_look_up(&self, send: &ClaimedSend, found: LookUp) -> Settlement {
        match found {
            LookUp::Sent { provider_id } => Settlement::Sent(Receipt::from_provider(&provider_id)),
            LookUp::Absent if self.may_retry(send) == Some(true) => {
                Settlement::Retry(Reason::new("not_found"))
            }
            LookUp::Absent => self.look_again(send, "not_found"),
            LookUp::Unknown => self.look_again(send, "not_proved"),
        }
    }

    /// Whether the operator's choice is to send once more, and if so, whether it is time.
    fn may_retry(&self, send: &ClaimedSend) -> Option<bool> {
        let age = send.since_first_dispatch.unwrap_or_default();
        (self.sender.on_uncertain == OnUncertain::Retry).then(|| age >= self.settings.retry_after)
    }

    /// Keeps the send uncertain and schedules the next check. After `LOOK_UPS_END` no further
    /// check is scheduled.
    fn look_again(&self, send: &ClaimedSend, reason: &'static str) -> Settlement {
        if send.since_first_dispatch.unwrap_or_default() > LOOK_UPS_END {
            return hold(reason);
        }
        let (first, ceiling) = (self.settings.settle_first, self.settings.settle_ceiling);
        let wait = wait_after(send.settle_tries, first, ceiling);
        Settlement::Unknown(Some(wait), Reason::new(reason))
    }
}

/// It stays uncertain until the operator, or an event of the provider, settles it.
fn hold(reason: &'static str) -> Settlement {
    Settlement::Unknown(None, Reason::new(reason))
}

fn words(settlement: &Settlement) -> (&'static str, &str) {
    match settlement {
        Settlement::Sent(_) => ("sent", "-"),
        Settlement::Retry(reason) => ("retry", reason.as_str()),
        Settlement::Unknown(_, reason) => ("unknown", reason.as_str()),
    }
}
