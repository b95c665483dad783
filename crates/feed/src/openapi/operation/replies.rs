//! The operations of replies, threads and rules.

use super::{DEFAULT, IdempotencyKeyUse, Operation};

pub(super) const REPLIES: &[Operation] = &[
    Operation {
        path: "/v1/inboxes/{inbox}/rules",
        id: "showRules",
        summary: "Returns the rules of an inbox, in order",
        answers: &[(200, &["InboundRules"], "The rules.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/inboxes/{inbox}/rules",
        id: "setRules",
        summary: "Replaces the rules of an inbox",
        body: Some("InboundRules"),
        needs_body: true,
        answers: &[(200, &["InboundRules"], "The rules.")],
        ..DEFAULT
    },
    Operation {
        path: "/v1/messages/{message}",
        id: "showMessage",
        summary: "Returns what rules did with a message, and whether it can be answered",
        answers: &[(
            200,
            &["Message"],
            "The message, without anything that its sender wrote.",
        )],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/messages/{message}/replies",
        id: "replyToMessage",
        summary: "Answers a message by a template, at most once for all callers",
        body: Some("ReplyWish"),
        needs_body: true,
        answers: &[
            (201, &["Send"], "The reply is recorded."),
            (
                200,
                &["Send"],
                "The message has this reply already. This is a success: do not retry.",
            ),
        ],
        own_problems: &["no-reply", "thread-handed-over", "intent-used", "send-cap"],
        key: IdempotencyKeyUse::Optional,
    },
    Operation {
        path: "/v1/threads",
        id: "listThreads",
        summary: "Lists the threads that were handed over to a person, newest first",
        answers: &[(200, &["ThreadPage"], "A page.")],
        ..DEFAULT
    },
    Operation {
        path: "/v1/threads/{thread}",
        id: "showThread",
        summary: "Returns a thread, and who answers in it",
        answers: &[(200, &["Thread"], "The thread.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/threads/{thread}/release",
        id: "releaseThread",
        summary: "Lets agents answer in a thread again",
        body: Some("Nothing"),
        answers: &[(200, &["Thread"], "Agents may answer.")],
        ..DEFAULT
    },
];
