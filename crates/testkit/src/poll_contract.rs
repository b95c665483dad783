//! The contract of a database for polling. Its tests are made as those of
//! [`crate::store_contract`].

mod leases;
mod paths;
mod saves;
mod silence;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use pipeline::{ContentDigest, DeliveryKey, Lease, Leased, PollLog, Polled, PollerId, SilenceLog};

use crate::store_contract::{LONG, StoreSubject, delivery, must, source};

pub use leases::*;
pub use paths::*;
pub use saves::*;
pub use silence::*;
pub use waiting::*;

/// A database under test with polling.
pub trait PollSubject: StoreSubject {
    /// Leases, cursors and the mails that polling found.
    fn polls(&self) -> Arc<dyn PollLog>;

    /// The health of sources.
    fn silence(&self) -> Arc<dyn SilenceLog>;
}

/// A mail that was found by polling, with the source's id for it.
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
            lease_is_extended_with_the_same_fence,
            source_is_taken_over_after_its_lease_expired,
            released_source_is_free_at_once,
            lost_lease_releases_nothing,

            mails_and_cursor_are_saved_together,
            mail_found_twice_is_recorded_once,
            poller_with_an_old_fence_saves_nothing,
            of_two_pollers_with_the_same_mail_one_saves,
            unseen_leaves_out_recorded_mail,
            outcome_of_a_round_is_recorded,

            mail_first_found_by_polling_counts_as_recovered,
            lag_of_the_second_path_is_reported_once,
            same_provider_id_is_one_message_whatever_the_content,
            code_found_late_expires_by_the_age_of_its_mail,
            mail_with_a_future_time_counts_as_received_now,

            attempt_without_mail_is_overdue_until_mail_arrives,
            finished_attempt_is_not_overdue,
            resend_restarts_the_wait_for_mail,

            only_posts_change_the_usual_gap,
            posts_before_the_first_observation_do_not_count,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::StoreSubject>::open().await;
                $crate::poll_contract::$rule(&subject).await;
                $crate::store_contract::StoreSubject::close(&subject).await;
            }
        )+
    };
}
