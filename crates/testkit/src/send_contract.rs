//! The contract of a database for sends and guards. Its tests are made as those of
//! [`crate::store_contract`].

mod claim_requests;
mod fixtures;
mod guards;
mod may_have_been_sent;
mod outbox;
mod send_requests;
mod sends;
mod settling;

use std::sync::Arc;

use pipeline::{EchoLog, GuardLog, Outbox, SendLog};

use crate::retention_contract::RetentionSubject;

pub use claim_requests::*;
pub use fixtures::{new_send, shop};
pub use guards::*;
pub use may_have_been_sent::*;
pub use outbox::*;
pub use send_requests::*;
pub use sends::*;
pub use settling::*;

/// A database under test with sends and guards.
pub trait SendSubject: RetentionSubject {
    /// Its guards.
    fn guards(&self) -> Arc<dyn GuardLog>;

    /// Its sends.
    fn sends(&self) -> Arc<dyn SendLog>;

    /// Its outbox.
    fn outbox(&self) -> Arc<dyn Outbox>;

    /// What comes back of its sends.
    fn echoes(&self) -> Arc<dyn EchoLog>;
}

/// Makes a test of every rule of the contract for a [`SendSubject`].
#[macro_export]
macro_rules! send_contract {
    ($subject:ty) => {
        $crate::send_contract!(
            $subject:
            of_fifty_claims_of_one_intent_one_succeeds,
            claimed_guard_is_in_progress_for_others,
            repeated_claim_request_gets_the_same_token,
            of_fifty_equal_claim_requests_one_is_new,
            of_fifty_intents_under_one_key_one_is_claimed,
            key_of_a_done_intent_is_used_for_it,
            refused_claim_leaves_its_key_free,
            claim_request_is_kept_for_its_retention_time,
            confirmed_guard_is_done_for_all,
            released_guard_is_claimed_with_another_token,
            of_fifty_claims_after_a_release_one_succeeds,
            guard_without_a_report_is_uncertain_and_not_claimable,
            late_confirm_is_accepted_after_the_lease,
            confirm_with_an_older_token_is_accepted,
            release_and_extend_with_an_older_token_are_refused,
            release_after_the_lease_is_refused,
            extended_guard_holds_longer,
            token_of_another_guard_is_unknown,
            guards_of_other_actions_and_senders_are_separate,
            guard_and_send_share_an_intent,
            uncertain_guard_is_settled_by_the_operator,

            of_fifty_equal_sends_one_is_recorded,
            same_intent_with_other_content_is_refused,
            cap_is_exact_under_concurrency,
            duplicate_does_not_count_for_a_cap,
            held_send_is_approved_or_expires,
            cancelled_send_keeps_its_intent_and_loses_its_content,
            sends_are_listed_by_state_newest_first,
            watch_wakes_when_a_send_changes,

            repeated_request_gets_the_same_send,
            key_of_a_duplicate_is_used_for_its_send,
            of_two_requests_at_once_under_one_key_one_is_answered,
            concurrent_calls_that_record_nothing_leave_nothing,
            request_that_outlives_its_send_is_not_sent_again,

            ready_send_wakes_the_outbox_of_its_sender,
            claimed_send_has_what_was_recorded,
            of_many_dispatchers_one_claims_a_send,
            claim_without_a_dispatch_is_ready_again,
            dispatch_needs_a_lease_longer_than_the_timeout,
            lost_claim_is_not_dispatched,
            send_is_dispatched_once,
            results_of_a_dispatch_lead_to_their_states,
            dispatch_without_a_result_is_uncertain,
            negative_result_after_the_lease_is_lost,
            proof_of_sent_is_accepted_in_every_state,
            proof_of_sent_takes_the_claim_of_another,

            uncertain_send_is_settled_by_one_process,
            replay_is_permitted_only_within_the_window,
            settlements_lead_to_their_states,
            operator_settles_an_uncertain_send,
            event_of_the_provider_proves_a_send_in_every_state,
            copy_that_comes_back_proves_a_send,
            key_of_a_guard_in_a_mail_proves_nothing,
            contents_intents_and_events_are_deleted_in_time,

            refusal_of_what_may_have_been_sent_is_uncertain,
            giving_up_what_may_have_been_sent_is_uncertain,
            what_may_have_been_sent_is_not_cancelled,
            after_the_operators_retry_a_send_can_fail_or_be_cancelled,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::StoreSubject>::open().await;
                $crate::send_contract::$rule(&subject).await;
                $crate::store_contract::StoreSubject::close(&subject).await;
            }
        )+
    };
}
