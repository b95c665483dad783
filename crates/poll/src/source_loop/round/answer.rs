//! Waiting for the answers of a source, with a timeout.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::{HeldLease, Stop};
use crate::client::PollError;
use crate::deps::Deps;

/// The answer to one request.
pub(super) async fn in_time<T>(
    budget: Duration,
    answer: impl Future<Output = Result<T, PollError>>,
) -> Result<T, PollError> {
    match timeout(budget, answer).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(PollError::Unavailable),
    }
}

/// An answer that takes up to this many requests. A large mailbox on a busy server may need
/// longer than the lease lasts, so the lease is renewed meanwhile.
pub(super) async fn while_held<T>(
    deps: &Deps,
    held: &mut HeldLease,
    requests: u32,
    answer: impl Future<Output = Result<T, PollError>>,
) -> Result<Result<T, PollError>, Stop> {
    let budget = deps.settings.answer_budget.saturating_mul(requests);
    let mut answer = pin!(in_time(budget, answer));
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return Ok(answer),
            () = sleep(deps.settings.renewal_interval()) => held.renew(deps).await?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_source::TestPoller;

    #[tokio::test]
    async fn page_of_several_requests_has_the_timeout_of_as_many() {
        let mut poller = TestPoller::new().await;
        poller.deps.settings.answer_budget = Duration::from_millis(20);
        let mut held = HeldLease::new(poller.lease().await);
        let mut outcomes = Vec::new();
        for requests in [1, u32::MAX] {
            let answer = async {
                sleep(Duration::from_millis(200)).await;
                Ok(())
            };
            let outcome = while_held(&poller.deps, &mut held, requests, answer).await;
            outcomes.push(outcome.unwrap());
        }
        assert_eq!(outcomes, [Err(PollError::Unavailable), Ok(())]);
    }
    #[tokio::test]
    async fn lease_is_renewed_while_a_page_is_read() {
        let mut poller = TestPoller::new().await;
        // The answer takes longer than a renewal, and far less than the lease.
        poller.deps.settings.lease = Duration::from_secs(9);
        let mut held = HeldLease::new(poller.lease().await);
        let before = held.renewed;
        let answer = async {
            sleep(Duration::from_secs(4)).await;
            Ok(())
        };
        let outcome = while_held(&poller.deps, &mut held, 6, answer).await;
        assert_eq!(outcome.unwrap(), Ok(()));
        assert!(held.renewed > before);
    }
}
