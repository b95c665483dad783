//! The contract of a database for replies, threads and rules. Its tests are made as those
//! of [`crate::store_contract`].

mod fixtures;
mod handling;
mod replies;
mod reply_requests;
mod threads;

use std::sync::Arc;

use pipeline::{ReplyLog, ThreadLog};

use crate::send_contract::SendSubject;

pub use fixtures::{arrives, letter, reply_to};
pub use handling::*;
pub use replies::*;
pub use reply_requests::*;
pub use threads::*;

/// A database under test with replies.
pub trait ReplySubject: SendSubject {
    /// Its replies.
    fn replies(&self) -> Arc<dyn ReplyLog>;

    /// Its threads.
    fn threads(&self) -> Arc<dyn ThreadLog>;
}

/// Makes a test of every rule of the contract for a [`ReplySubject`].
#[macro_export]
macro_rules! reply_contract {
    ($subject:ty) => {
        $crate::reply_contract!(
            $subject:
            of_fifty_replies_to_one_message_one_is_recorded,
            two_senders_give_a_message_one_reply,
            message_that_ours_followed_is_not_answered,
            mail_in_our_name_follows_a_message,
            refused_reply_leaves_its_intent_and_its_request_free,
            reply_counts_for_the_caps_of_sends,
            message_of_another_owner_is_unknown,
            cancelled_reply_is_the_only_reply,

            repeated_reply_request_gets_the_same_reply,
            key_of_a_duplicate_reply_is_used_for_it,
            key_of_a_reply_that_is_not_rendered_again_is_used_for_it,
            of_two_reply_requests_at_once_under_one_key_one_is_answered,
            duplicate_reply_leaves_only_its_request,

            thread_is_handed_over_at_its_cap_and_released,
            of_twenty_replies_in_one_thread_at_once_one_is_recorded,
            duplicate_reply_in_a_handed_over_thread_is_found,
            new_threads_with_one_person_are_handed_over_at_the_persons_cap,
            handover_is_claimed_by_one_worker_until_it_is_reported,
            release_ends_the_report_of_a_handover,

            dropped_message_has_no_item_and_is_explained,
            message_without_handling_cannot_be_answered,
            context_is_kept_as_it_was_and_deleted_with_the_items,
            own_mail_is_recognised_by_key_id_and_receipt,
            inbound_rules_keep_their_order_and_their_owner,
            rotated_inbox_keeps_its_rules,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::StoreSubject>::open().await;
                $crate::reply_contract::$rule(&subject).await;
                $crate::store_contract::StoreSubject::close(&subject).await;
            }
        )+
    };
}
