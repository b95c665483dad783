//! What every database must do, whatever it is made of.
//!
//! A kind of database implements [`Subject`] and calls [`crate::store_contract!`],
//! which makes one test of each function below. Every function gets an empty
//! database of its own and speaks to it through the pipeline's seams alone.

mod artifacts;
mod attempts;
mod claims;
mod consumes;
mod deliveries;
mod failures;
mod inboxes;
mod line;
mod material;
mod messages;
mod requests;

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{AgentLog, AttemptLog, DeliveryLog, FailureLog, InboxLog, Probe, WorkLog};

pub use artifacts::*;
pub use attempts::*;
pub use claims::*;
pub use consumes::*;
pub use deliveries::*;
pub use failures::*;
pub use inboxes::*;
pub use line::*;
pub use material::*;
pub use messages::*;
pub use requests::*;

/// The seams of one open database.
#[derive(Clone)]
pub struct Seams {
    /// For the webhook, the poller and the sweeper.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// For the worker.
    pub work: Arc<dyn WorkLog>,
    /// For the feed.
    pub agents: Arc<dyn AgentLog>,
    /// For the feed: inboxes.
    pub inboxes: Arc<dyn InboxLog>,
    /// For the feed: attempts.
    pub attempts: Arc<dyn AttemptLog>,
    /// For the operator.
    pub failures: Arc<dyn FailureLog>,
    /// For `/readyz`.
    pub probe: Arc<dyn Probe>,
}

/// An open database under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// Opens an empty database.
    async fn open() -> Self
    where
        Self: Sized;

    /// Its seams.
    fn seams(&self) -> Seams;

    /// Closes it.
    async fn close(&self);
}

/// Makes a test of every rule of the contract for a [`Subject`].
#[macro_export]
macro_rules! store_contract {
    ($subject:ty) => {
        $crate::store_contract!(
            $subject:
            the_same_post_twice_is_recorded_once,
            fifty_identical_posts_at_once_make_one_row,
            a_batch_that_repeats_itself_is_answered_in_its_order,
            an_empty_batch_needs_no_answer,
            batches_with_the_same_keys_in_any_order_do_not_deadlock,
            other_content_under_a_known_id_has_a_row_of_its_own,
            other_content_for_a_token_used_once_is_refused,
            one_batch_may_hold_both_sides_of_a_conflict,
            the_same_conflict_fifty_times_at_once_makes_one_row,
            the_bytes_of_a_delivery_come_back_as_they_came,
            a_new_delivery_is_due_when_its_first_ring_had_time,
            a_rung_delivery_is_due_again_only_after_patience,
            ringing_never_makes_a_delivery_due_earlier,
            the_longest_due_come_first_and_no_more_than_asked_for,
            the_backlog_counts_what_waits_and_what_was_given_up,
            only_what_a_worker_could_take_is_overdue,
            a_lease_that_has_passed_is_overdue,

            a_claim_brings_the_delivery_and_its_first_attempt,
            of_many_claimers_one_gets_it,
            an_attempt_counts_even_if_the_worker_dies,
            a_claimed_delivery_is_due_when_its_lease_has_passed,
            a_worker_whose_lease_has_passed_writes_nothing,
            an_ended_claim_cannot_be_ended_again,
            a_delivery_put_back_waits_and_comes_again,
            a_delivery_that_is_put_off_has_used_no_attempt,
            a_ring_for_a_finished_delivery_is_an_echo,

            the_same_mail_by_two_deliveries_is_one_message,
            the_same_mail_by_eight_workers_at_once_is_one_message,
            a_known_message_brings_no_artifacts,
            mail_to_the_same_inboxes_in_any_order_does_not_deadlock,
            a_delivery_without_mail_is_finished,
            a_message_is_received_when_its_delivery_was_recorded,

            an_artifact_shows_what_an_agent_may_see,
            the_same_value_in_one_window_is_one_artifact,
            a_known_artifact_leaves_no_gap,
            items_are_listed_behind_a_place_in_order,
            an_inbox_shows_its_own_items_only,
            readers_see_every_place_once_in_order_while_eight_write,
            a_watch_hears_of_what_arrives,
            news_between_watching_and_waiting_is_not_missed,

            the_first_consume_gets_the_value,
            of_two_consumers_one_gets_the_value,
            of_fifty_consumers_one_gets_the_value,
            the_same_request_again_gets_the_same_answer,
            the_same_request_many_times_at_once_consumes_once,
            a_retry_after_the_window_gets_no_value,
            the_same_consumer_with_another_key_gets_no_value,
            a_key_used_for_another_artifact_is_refused,
            one_key_for_two_artifacts_at_once_consumes_one,
            an_expired_artifact_is_not_consumed,
            a_retry_inside_the_window_outlives_the_artifact,
            what_is_kept_back_is_not_consumed,
            outside_its_scope_an_artifact_does_not_exist,
            an_attempt_gets_what_comes_after_it_was_opened,
            what_came_before_an_attempt_is_never_for_it,
            mail_that_was_received_before_an_attempt_is_not_for_it,
            parallel_attempts_get_one_mail_each,
            the_newest_mail_of_an_attempt_wins,
            an_older_mail_that_comes_late_replaces_nothing,
            a_value_is_one_artifact_within_an_attempt_and_another_outside,
            a_repeated_value_stays_with_the_attempt_that_has_it,
            a_code_that_is_mailed_again_is_for_whoever_came_since,
            a_resend_that_brings_the_same_is_the_askers_own,
            whoever_is_passed_over_is_told_in_the_end,
            a_code_that_comes_back_is_the_newest_again,
            whoever_waits_is_told_that_it_is_over,
            whoever_waits_is_told_that_the_inbox_has_ended,
            an_inbox_that_was_made_for_an_attempt_has_its_rules,
            only_its_owner_ends_an_inbox,
            an_inbox_is_rotated_once,
            a_retry_gets_what_its_first_request_got,
            of_fifty_consumers_of_an_attempt_one_gets_the_value,
            a_key_used_for_another_attempt_is_refused,
            a_reference_means_one_attempt,
            a_reference_outlives_its_inbox,
            a_request_that_is_repeated_opens_one_attempt,
            a_reference_and_a_key_do_not_meet,
            a_request_that_is_repeated_makes_one_inbox,
            a_rotation_and_an_end_are_done_once_for_each_key,
            resends_are_counted_once_for_each_key,
            two_askers_with_one_key_ask_twice,
            one_key_for_two_attempts_at_once_is_granted_once,
            the_same_key_on_another_way_is_another_request,
            a_link_of_which_one_field_is_wanted_is_not_shown,
            a_resend_after_a_consume_waits_for_the_next,
            a_finished_attempt_gets_nothing_more,
            after_its_deadline_an_attempt_gives_nothing,
            a_miss_is_told_until_something_comes,
            an_attempt_outside_the_scope_does_not_exist,
            an_inbox_is_its_owners,
            an_address_is_taken_once,
            a_rotated_inbox_has_a_new_address,
            a_tag_is_looked_through,

            a_buried_delivery_is_kept_with_its_reason_and_body,
            the_last_buried_come_first,
            a_requeued_delivery_starts_anew,
            only_a_buried_delivery_is_requeued,
            a_buried_conflict_is_marked,
            the_probe_tells_an_open_database_from_a_closed_one,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::Subject>::open().await;
                $crate::store_contract::$rule(&subject).await;
                $crate::store_contract::Subject::close(&subject).await;
            }
        )+
    };
}
