//! Hands one claimed send to its provider: dispatch (committed), one request, result.

use std::time::Duration;

use pipeline::{
    ClaimedSend, Outbox, Reason, Receipt, SendClaim, SendPermit, SendResult, SendState, SendWritten,
};
use tokio::time::{Instant, sleep};

use crate::acceptance::Acceptance;
use crate::backoff::wait_after;
use crate::meters::{Meters, OfSender};
use crate::patience::within;
use crate::prepared::Prepared;
use crate::sender::Sender;
use crate::settings::SendSettings;

/// The wait after the first try that proved that nothing was sent.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(10);
/// How long a result is kept to write it when the database is unavailable. Afterwards the
/// send is `uncertain`, which is also true.
const KEEP_RESULT: Duration = Duration::from_mins(5);

/// What a sender needs to hand over its sends.
pub(crate) struct Dispatch<'a> {
    pub(crate) outbox: &'a dyn Outbox,
    pub(crate) sender: &'a Sender,
    pub(crate) settings: &'a SendSettings,
    pub(crate) meters: &'a Meters,
}

/// Whether the sender can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// With the next send.
    GoOn,
    /// Not now: every send would fail.
    Pause,
    /// As before: nothing was handed over.
    Unchanged,
}

impl Dispatch<'_> {
    /// Hands over one send. Nothing leaves before the dispatch is committed, and only one
    /// request is made for it.
    pub(crate) async fn hand_over(&self, send: ClaimedSend) -> Next {
        let asked = Instant::now();
        match self.outbox.dispatch(send.claim, self.timeout()).await {
            Ok(SendPermit::Go) => {}
            Ok(SendPermit::Lost | SendPermit::WindowOver) => return Next::GoOn,
            Err(error) => {
                // It may be committed. Nothing was sent in any case: after its lease the
                // send is ready or uncertain.
                let error: &dyn std::error::Error = &error;
                tracing::warn!(send.id = %send.claim.send, error, "a send could not be dispatched");
                return Next::GoOn;
            }
        }
        let acceptance = self.request(&send, asked).await;
        let next = match &acceptance {
            Acceptance::NotSent(not_sent) if not_sent.concerns_sender => Next::Pause,
            _ => Next::GoOn,
        };
        let latency = send.age + asked.elapsed();
        let is_sent = matches!(acceptance, Acceptance::Sent { .. });
        self.end(&send, self.result(&send, acceptance)).await;
        if is_sent {
            self.meters.latency.observe(latency.as_secs_f64());
        }
        next
    }

    /// The one request. A process that was frozen between the dispatch and now must not
    /// send: its lease may be over, and another process may be looking after the send.
    async fn request(&self, send: &ClaimedSend, asked: Instant) -> Acceptance {
        let transport = &self.sender.transport;
        let prepared = Prepared::read(&send.payload);
        let Some(prepared) = prepared.filter(|mail| mail.provider == transport.provider()) else {
            return Acceptance::refused("provider_changed");
        };
        if asked.elapsed() >= self.settings.lease_margin {
            return Acceptance::not_sent("too_late", None);
        }
        let request = transport.hand_over(&prepared, &send.key);
        let acceptance = within(self.timeout(), request).await;
        acceptance.unwrap_or(Acceptance::maybe("no_answer"))
    }

    fn timeout(&self) -> Duration {
        self.sender.transport.timeout()
    }

    /// What is recorded for an answer. If an earlier dispatch may have been sent, the store
    /// records a refusal as uncertain.
    fn result(&self, send: &ClaimedSend, acceptance: Acceptance) -> SendResult {
        match acceptance {
            Acceptance::Sent { provider_id } => {
                SendResult::Sent(Receipt::from_provider(&provider_id))
            }
            Acceptance::NotSent(_) if send.age > self.settings.give_up => {
                SendResult::Refused(Reason::new("gave_up"))
            }
            Acceptance::NotSent(not_sent) => {
                let own = wait_after(send.tries, FIRST_WAIT, LONGEST_WAIT);
                let wait = not_sent.wait.map_or(own, |asked| asked.max(own));
                SendResult::NotSent(wait, not_sent.reason)
            }
            Acceptance::Refused { reason } => SendResult::Refused(reason),
            Acceptance::Maybe { reason } => {
                let wait = wait_after(0, self.settings.settle_first, self.settings.settle_ceiling);
                SendResult::Maybe(wait, reason)
            }
        }
    }

    /// Records a result. It is the only trace of what the provider said, so it is tried
    /// until the database takes it.
    async fn end(&self, send: &ClaimedSend, result: SendResult) {
        let (outcome, reason) = words(&result);
        let label = OfSender {
            sender: self.sender.name.to_string(),
            outcome,
        };
        self.meters.handed_over.get_or_create(&label).inc();
        tracing::info!(
            send.id = %send.claim.send, sender = %self.sender.name, outcome, reason,
            "dispatch of a send ended"
        );
        let written = self.written(send.claim, &result).await;
        self.meters.note_late(written);
    }

    async fn written(&self, claim: SendClaim, result: &SendResult) -> Option<SendWritten> {
        let begun = Instant::now();
        for tries in 0.. {
            match self.outbox.end_dispatch(claim, result.clone()).await {
                Ok(written) => return Some(written),
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(send.id = %claim.send, error, "the result of a send could not be recorded");
                }
            }
            if begun.elapsed() > KEEP_RESULT {
                break;
            }
            sleep(wait_after(
                tries,
                Duration::from_millis(100),
                Duration::from_secs(5),
            ))
            .await;
        }
        None
    }
}

/// The words of a result for logs and metrics.
fn words(result: &SendResult) -> (&'static str, &str) {
    match result {
        SendResult::Sent(_) => ("sent", "-"),
        SendResult::NotSent(_, reason) => ("not_sent", reason.as_str()),
        SendResult::Refused(reason) => ("refused", reason.as_str()),
        SendResult::Maybe(_, reason) => ("maybe", reason.as_str()),
    }
}

impl Meters {
    /// Counts proof that a mail was sent that was settled as not sent before: the
    /// recipient may have it twice.
    pub(crate) fn note_late(&self, written: Option<SendWritten>) {
        let wrong = [SendState::Ready, SendState::Failed, SendState::Cancelled];
        if let Some(SendWritten::Late(state)) = written
            && wrong.contains(&state)
        {
            self.doubled.inc();
            tracing::error!(
                state = state.as_str(),
                "a mail was sent that was settled as not sent before"
            );
        }
    }
}
