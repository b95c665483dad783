//! The operations of sends.

use super::{DEFAULT, IdempotencyKeyUse, Operation};

pub(super) const SENDS: &[Operation] = &[
    Operation {
        path: "/v1/senders",
        id: "listSenders",
        summary: "Lists the configured senders, and what their templates take",
        answers: &[(
            200,
            &["SenderPage"],
            "The senders; none if none is configured.",
        )],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/sends",
        id: "sendMail",
        summary: "Sends a mail by a template, once for its intent",
        body: Some("SendWish"),
        needs_body: true,
        answers: &[
            (201, &["Send"], "The send is recorded."),
            (
                200,
                &["Send"],
                "The same intent with the same content was asked for before; this is its send.",
            ),
        ],
        own_problems: &[
            "intent-used",
            "recipient-not-allowed",
            "send-cap",
            "not-found",
        ],
        key: IdempotencyKeyUse::Optional,
    },
    Operation {
        method: "POST",
        path: "/v1/sends/batch",
        id: "sendMails",
        summary: "Sends up to a hundred mails; each is answered for itself",
        body: Some("SendBatchWish"),
        needs_body: true,
        answers: &[(
            200,
            &["SendBatch"],
            "An answer for each send, in their order.",
        )],
        key: IdempotencyKeyUse::Optional,
        ..DEFAULT
    },
    Operation {
        path: "/v1/sends",
        id: "listSends",
        summary: "Lists the sends and guards in a state, newest first, without content",
        answers: &[(200, &["SendPage"], "A page.")],
        ..DEFAULT
    },
    Operation {
        path: "/v1/sends/{send}",
        id: "showSend",
        summary: "Returns the state of a send, and waits until it is known if asked",
        answers: &[(200, &["Send"], "The state, without the content.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/sends/{send}/cancel",
        id: "cancelSend",
        summary: "Cancels a send that cannot have reached its provider",
        body: Some("Nothing"),
        answers: &[(200, &["Send"], "It is cancelled.")],
        own_problems: &["state-conflict"],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/sends/{send}/approve",
        id: "approveSend",
        summary: "Lets a held send be sent",
        body: Some("Nothing"),
        answers: &[(200, &["Send"], "It may be sent.")],
        own_problems: &["state-conflict"],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/sends/{send}/refuse",
        id: "refuseSend",
        summary: "Cancels a held send",
        body: Some("Nothing"),
        answers: &[(200, &["Send"], "It is cancelled.")],
        own_problems: &["state-conflict"],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/sends/{send}/settle",
        id: "settleSend",
        summary: "Says what became of a send or a guard that is uncertain",
        body: Some("Settlement"),
        needs_body: true,
        answers: &[(200, &["Send"], "It is settled.")],
        own_problems: &["state-conflict"],
        ..DEFAULT
    },
];
