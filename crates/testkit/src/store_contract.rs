//! The contract of a database.
//!
//! A database implements [`StoreSubject`] and calls [`crate::store_contract!`], which
//! turns each function below into a test. Every function gets an empty database and
//! uses it only through the traits of `pipeline`.

mod artifacts;
mod assignment;
mod attempts;
mod audit;
mod claims;
mod consumes;
mod deliveries;
mod earlier;
mod failures;
mod fixtures;
mod heartbeat;
mod inboxes;
mod messages;
mod proofs;
mod requests;
mod together;

use std::sync::Arc;

use async_trait::async_trait;
use pipeline::{AgentLog, AttemptLog, AuditLog, DeliveryLog, FailureLog, InboxLog, Probe, WorkLog};

pub use artifacts::*;
pub use assignment::*;
pub use attempts::*;
pub use audit::*;
pub use claims::*;
pub use consumes::*;
pub use deliveries::*;
pub use earlier::*;
pub use failures::*;
pub use fixtures::*;
pub use heartbeat::*;
pub use inboxes::*;
pub use messages::*;
pub use proofs::*;
pub use requests::*;
pub use together::*;

/// The traits of one open database.
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
    /// For the operator: who consumed what.
    pub audit: Arc<dyn AuditLog>,
    /// For the operator.
    pub failures: Arc<dyn FailureLog>,
    /// For `/readyz`.
    pub probe: Arc<dyn Probe>,
}

/// An open database under test.
#[async_trait]
pub trait StoreSubject: Send + Sync {
    /// Opens an empty database.
    async fn open() -> Self
    where
        Self: Sized;

    /// Its traits.
    fn seams(&self) -> Seams;

    /// Closes it.
    async fn close(&self);
}

/// Makes a test of every rule of the contract for a [`StoreSubject`].
#[macro_export]
macro_rules! store_contract {
    ($subject:ty) => {
        $crate::store_contract!(
            $subject:
            duplicate_post_is_recorded_once,
            fifty_identical_posts_at_once_make_one_row,
            claims_at_once_give_each_delivery_to_one_worker,
            completions_at_once_leave_no_gap_in_the_positions,
            lost_claim_among_others_is_lost_alone,
            refused_completion_among_others_fails_alone,
            few_large_bodies_are_held_at_once,
            batch_with_duplicates_is_answered_in_order,
            each_delivery_of_a_batch_keeps_its_own_body,
            empty_batch_gives_an_empty_answer,
            batches_with_the_same_keys_in_any_order_do_not_deadlock,
            reused_id_with_other_content_gets_its_own_row,
            reused_token_with_other_content_is_refused,
            one_batch_may_contain_both_sides_of_a_conflict,
            same_conflict_fifty_times_at_once_makes_one_row,
            claimed_body_equals_the_recorded_bytes,
            new_delivery_is_due_after_its_first_notification_had_time,
            notified_delivery_is_due_again_only_after_the_wait,
            notifying_does_not_postpone_a_retry,
            notifying_never_makes_a_delivery_due_earlier,
            due_lists_longest_due_first_up_to_the_limit,
            claimable_lists_what_is_due_soon_and_not_claimed,
            backlog_counts_unfinished_and_dead_letters,
            only_claimable_deliveries_are_overdue,
            delivery_with_an_expired_lease_is_overdue,

            first_claim_returns_the_delivery_and_attempt_one,
            of_many_concurrent_claims_one_succeeds,
            unended_claim_makes_a_suspect_and_counts_no_attempt,
            counted_attempt_stays_counted_if_the_worker_dies,
            uncounted_attempt_leaves_no_trace,
            ended_claim_makes_no_suspect,
            attempt_of_a_lost_claim_is_not_counted,
            claimed_delivery_is_due_after_its_lease_expires,
            extended_claim_holds_longer,
            only_the_holder_extends_a_claim,
            worker_with_an_expired_lease_writes_nothing,
            ended_claim_cannot_be_ended_again,
            retried_delivery_waits_and_is_due_again,
            uncounted_retry_uses_no_attempt,
            claim_of_a_finished_delivery_answers_finished,

            same_mail_in_two_deliveries_is_one_message,
            same_mail_by_eight_workers_at_once_is_one_message,
            duplicate_message_adds_no_artifacts,
            completions_for_the_same_inboxes_in_any_order_do_not_deadlock,
            delivery_without_mail_is_finished,
            message_is_received_when_its_delivery_was_recorded,

            artifact_view_has_what_an_agent_may_see,
            same_value_in_one_window_is_one_artifact,
            duplicate_artifact_leaves_no_gap_in_the_positions,
            items_after_a_position_are_listed_in_order,
            inbox_lists_only_its_own_items,
            readers_see_every_position_once_in_order_while_eight_write,
            watch_wakes_for_a_new_item,
            change_between_watching_and_waiting_is_not_missed,

            first_consume_gets_the_value,
            of_two_consumers_one_gets_the_value,
            of_fifty_consumers_one_gets_the_value,
            repeated_consume_request_gets_the_same_answer,
            concurrent_repeats_of_a_consume_request_consume_once,
            retry_after_the_replay_window_gets_no_value,
            same_consumer_with_another_key_gets_no_value,
            idempotency_key_used_for_another_artifact_is_refused,
            one_key_for_two_artifacts_at_once_consumes_one,
            expired_artifact_is_not_consumed,
            retry_in_the_replay_window_works_after_the_artifact_expired,
            withheld_artifact_is_not_consumed,
            artifact_outside_the_scope_is_unknown,
            attempt_gets_mail_that_arrives_after_it_was_opened,
            earlier_value_goes_to_an_attempt_that_takes_it,
            of_many_attempts_one_gets_the_earlier_value,
            older_value_beside_one_of_an_open_attempt_is_not_given,
            value_by_the_rules_of_an_ended_attempt_is_not_free,
            value_that_needs_an_attempt_is_recorded_for_an_attempt_only,
            value_of_an_ended_attempt_is_free_for_its_owner_alone,
            repeated_request_finds_mail_that_was_written_since,
            repeated_requests_beside_arriving_mail_do_not_fail,
            mail_recorded_before_an_attempt_is_never_for_it,
            mail_received_before_an_attempt_is_not_for_it,
            parallel_attempts_get_one_mail_each,
            newest_mail_of_an_attempt_supersedes_older_mail,
            older_mail_that_arrives_late_supersedes_nothing,
            granted_caller_finishes_only_its_own_attempts,
            unproven_mail_does_not_supersede_proven_mail,
            proven_mail_supersedes_unproven_mail_of_any_time,
            unproven_copy_of_a_proven_value_changes_nothing,
            consume_names_the_proof_of_the_sender,
            unproven_mail_after_a_resend_supersedes_proven_mail,
            repeated_value_is_one_artifact_per_attempt,
            repeated_value_stays_with_the_attempt_that_has_it,
            code_mailed_again_goes_to_the_attempt_opened_since,
            same_code_after_a_resend_goes_to_the_attempt_that_asked,
            attempt_whose_mail_went_to_another_learns_it_at_the_end,
            code_that_arrives_again_is_the_newest_again,
            watch_wakes_when_an_attempt_is_finished,
            watch_wakes_when_the_inbox_expires,
            inbox_generated_for_an_attempt_has_its_rules,
            only_the_owner_expires_an_inbox,
            inbox_is_rotated_once,
            retry_of_an_attempt_consume_gets_the_first_answer,
            of_fifty_consumers_of_an_attempt_one_gets_the_value,
            idempotency_key_used_for_another_attempt_is_refused,
            same_reference_returns_the_same_attempt,
            reference_works_after_its_inbox_expired,
            repeated_request_opens_one_attempt,
            reference_and_idempotency_key_are_separate,
            repeated_request_creates_one_inbox,
            rotation_and_finish_happen_once_for_each_key,
            resends_are_counted_once_for_each_key,
            same_key_of_two_callers_counts_two_resends,
            one_key_for_two_attempts_at_once_is_granted_once,
            same_key_for_another_kind_is_another_request,
            link_with_a_wanted_token_shows_no_link,
            resend_after_a_consume_is_pending_until_new_mail,
            finished_attempt_gets_no_more_mail,
            attempt_gives_no_value_after_its_deadline,
            attempt_without_its_heartbeat_ends_before_its_deadline,
            repeated_request_keeps_an_attempt_with_a_heartbeat_open,
            heartbeat_after_the_end_or_for_another_attempt_changes_nothing,
            miss_is_reported_until_an_artifact_arrives,
            attempt_outside_the_scope_is_unknown,
            inbox_is_visible_only_to_its_owner,
            address_is_created_once,
            rotated_inbox_has_a_new_address,
            tagged_address_finds_the_untagged_inbox,

            consumes_are_listed_newest_first_without_values,
            consume_is_found_by_its_artifact,

            dead_letter_keeps_its_reason_and_body,
            dead_letters_are_listed_newest_first,
            requeued_delivery_is_due_with_zero_attempts,
            retries_are_limited_from_the_first_claim,
            only_a_dead_letter_is_requeued,
            dead_letter_of_a_conflict_is_marked,
            ids_lead_to_their_delivery,
            probe_fails_when_the_database_is_closed,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::StoreSubject>::open().await;
                $crate::store_contract::$rule(&subject).await;
                $crate::store_contract::StoreSubject::close(&subject).await;
            }
        )+
    };
}
