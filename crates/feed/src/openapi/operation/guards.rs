//! The operations of guards.

use super::{DEFAULT, IdempotencyKeyUse, Operation};

pub(super) const GUARDS: &[Operation] = &[
    Operation {
        method: "POST",
        path: "/v1/guards",
        id: "claimGuard",
        summary: "Claims an intent before an action, so that it happens once",
        body: Some("GuardWish"),
        needs_body: true,
        answers: &[
            (
                201,
                &["GuardClaim"],
                "The caller may act until the deadline, and reports then. The same intent under the \
                 same idempotency key gets the same claim while it holds; another intent gets 422.",
            ),
            (
                200,
                &["Guard"],
                "The action is done already; `result` is what its caller stored. Do not act.",
            ),
        ],
        own_problems: &["in-progress", "uncertain", "intent-used"],
        key: IdempotencyKeyUse::Optional,
    },
    Operation {
        path: "/v1/guards/{guard}",
        id: "showGuard",
        summary: "Returns the state of a guard, without its token",
        answers: &[(200, &["Guard"], "The guard.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/guards/{guard}/confirm",
        id: "confirmGuard",
        summary: "Reports that the action is done; accepted at any time",
        body: Some("Confirmation"),
        needs_body: true,
        answers: &[(
            200,
            &["Guard"],
            "The action is done. The first result that was stored stays.",
        )],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/guards/{guard}/release",
        id: "releaseGuard",
        summary: "Reports that the action was not done; the intent may be claimed again",
        body: Some("Release"),
        needs_body: true,
        answers: &[(200, &["Guard"], "The intent may be claimed again.")],
        own_problems: &["lease-over", "stale-token", "already-done"],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/guards/{guard}/extend",
        id: "extendGuard",
        summary: "Moves the deadline of a guard",
        body: Some("Extension"),
        needs_body: true,
        answers: &[(200, &["Guard"], "The guard with its new deadline.")],
        own_problems: &["lease-over", "stale-token", "already-done"],
        ..DEFAULT
    },
];
