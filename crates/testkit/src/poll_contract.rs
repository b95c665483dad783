//! What every database must do for pollers, whatever it is made of; beside
//! [`crate::store_contract`] and made the same way.

mod leases;
mod paths;
mod saves;
mod silence;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use pipeline::{ContentDigest, DeliveryKey, Lease, Leased, PollLog, Polled, PollerId, SilenceLog};

use crate::store_contract::{LONG, Subject, delivery, must, source};

pub use leases::*;
pub use paths::*;
pub use saves::*;
pub use silence::*;
pub use waiting::*;

/// An open database under test that pollers may use.
pub trait PollSubject: Subject {
    /// What pollers remember.
    fn polls(&self) -> Arc<dyn PollLog>;

    /// What is heard of sources.
    fn silence(&self) -> Arc<dyn SilenceLog>;
}

/// A mail that was found under the source's own id for it.
pub fn found(id: &str) -> Polled {
    let mut delivery = delivery(id, id.as_bytes());
    delivery.key = DeliveryKey::from_poll(&source(), id);
    delivery.content = ContentDigest::of(&[id.as_bytes()]);
    Polled {
        delivery,
        arrived_at: None,
    }
}

/// The source, held by a new poller for longer than any test takes.
pub async fn held(polls: &dyn PollLog) -> Lease {
    held_for(polls, PollerId::new(), LONG).await
}

/// The source, held by this poller.
pub async fn held_for(polls: &dyn PollLog, poller: PollerId, span: Duration) -> Lease {
    match must(polls.lease(&source(), poller, span).await) {
        Leased::Yours(lease) => lease,
        Leased::Held => panic!("somebody else holds the source"),
    }
}

/// Makes a test of every rule of the contract for a [`PollSubject`].
#[macro_export]
macro_rules! poll_contract {
    ($subject:ty) => {
        $crate::poll_contract!(
            $subject:
            of_many_pollers_one_holds_a_source,
            a_lease_is_prolonged_under_the_same_fence,
            a_source_is_taken_over_when_its_lease_has_passed,
            a_source_given_back_is_free_at_once,
            a_lease_that_was_lost_gives_nothing_back,

            what_is_found_and_how_far_that_is_are_saved_together,
            what_is_found_twice_is_recorded_once,
            a_poller_that_was_overtaken_saves_nothing,
            of_two_pollers_with_the_same_finds_one_saves,
            what_is_known_need_not_be_fetched,
            a_round_is_noted_with_how_it_ended,

            a_mail_first_found_by_polling_is_recovered,
            the_other_path_is_noted_once_with_how_late_it_was,
            a_mail_that_its_provider_names_is_one_whatever_it_looks_like,
            a_code_that_is_found_late_is_as_old_as_its_mail,
            a_mail_from_the_future_arrives_now,

            an_attempt_without_mail_is_left_waiting_until_something_comes,
            an_attempt_that_is_over_is_not_waited_for,
            a_resend_is_waited_for_anew,

            posts_make_a_habit_and_finds_do_not,
            what_came_before_the_first_listening_is_not_counted,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::Subject>::open().await;
                $crate::poll_contract::$rule(&subject).await;
                $crate::store_contract::Subject::close(&subject).await;
            }
        )+
    };
}
