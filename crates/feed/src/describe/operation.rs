//! What a type cannot say of an operation: which bodies belong to it, and how it
//! can end.

use crate::access::Access;

/// Whether an operation takes an `Idempotency-Key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    None,
    Optional,
    Required,
}

/// One operation.
pub(super) struct Operation {
    method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) body: Option<&'static str>,
    pub(super) needs_body: bool,
    /// Status, the names of the bodies it may have, and what it means; without
    /// a body it is a stream of events.
    pub(super) answers: &'static [(u16, &'static [&'static str], &'static str)],
    /// The problems that it alone can end with.
    problems: &'static [&'static str],
    pub(super) key: Key,
}

impl Operation {
    pub(super) fn is_for(&self, access: &Access) -> bool {
        self.method == access.method && self.path == access.path
    }

    /// The headers that are read: name, whether it is needed, and what it does.
    pub(super) fn headers(
        &self,
        access: &Access,
    ) -> impl Iterator<Item = (&'static str, bool, &'static str)> {
        let waits = access.query.contains(&"wait");
        let prefer = waits.then_some((
            "Prefer",
            false,
            "`wait=N` waits for up to N seconds, as RFC 7240 has it.",
        ));
        let last = (self.id == "events").then_some((
            "Last-Event-ID",
            false,
            "The id of the last event; the stream goes on behind it.",
        ));
        let key = (self.key != Key::None).then_some((
            "Idempotency-Key",
            self.key == Key::Required,
            "Your word for this request; a retry with it gets the same answer.",
        ));
        prefer.into_iter().chain(last).chain(key)
    }

    /// Whether a retry with the same key gets the same answer, marked as such.
    pub(super) fn replays(&self) -> bool {
        // Only the hash of a token is kept, so a key is shown once.
        self.key != Key::None && self.id != "createKey"
    }

    /// The problems it can end with.
    pub(super) fn refusals(&self, access: &Access) -> Vec<&'static str> {
        let usual = [
            "invalid-parameter",
            "unauthenticated",
            "forbidden",
            "rate-limited",
            "internal",
            "temporarily-unavailable",
        ];
        let of_body = ["invalid-body", "unsupported-encoding", "request-timeout"];
        let mut all = usual.to_vec();
        all.extend(self.path.contains('{').then_some("not-found"));
        all.extend(self.body.iter().flat_map(|_| of_body));
        all.extend(access.query.contains(&"wait").then_some("too-many-waits"));
        all.extend(access.query.contains(&"after").then_some("invalid-cursor"));
        all.extend((self.key == Key::Required).then_some("idempotency-key-required"));
        if self.key != Key::None {
            all.extend(["idempotency-key-invalid", "idempotency-key-reused"]);
        }
        all.extend(self.problems);
        all
    }
}

/// What most operations are.
const PLAIN: Operation = Operation {
    method: "GET",
    path: "",
    id: "",
    summary: "",
    body: None,
    needs_body: false,
    answers: &[],
    problems: &[],
    key: Key::None,
};

/// All of them.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        method: "POST",
        path: "/v1/attempts",
        id: "openAttempt",
        summary: "Opens an attempt, before the mail is triggered",
        body: Some("AttemptWish"),
        answers: &[
            (201, &["Attempt"], "It is open; mail counts from now on."),
            (
                200,
                &["Attempt"],
                "The reference or key is known; this is its attempt.",
            ),
        ],
        problems: &["not-found", "reference-reused"],
        key: Key::Optional,
        ..PLAIN
    },
    Operation {
        path: "/v1/attempts/{attempt}",
        id: "showAttempt",
        summary: "Says how an attempt stands, and waits for a change if asked",
        answers: &[(200, &["Attempt"], "How it stands; never a value.")],
        ..PLAIN
    },
    Operation {
        method: "POST",
        path: "/v1/attempts/{attempt}/consume",
        id: "consumeAttempt",
        summary: "Waits for an attempt's artifact and consumes it",
        body: Some("ConsumeWish"),
        answers: &[(
            200,
            &["AttemptDisclosure", "Attempt"],
            "The value; or how the attempt stands, when there is nothing to consume.",
        )],
        problems: &["already-consumed"],
        key: Key::Required,
        ..PLAIN
    },
    Operation {
        method: "POST",
        path: "/v1/attempts/{attempt}/resend",
        id: "resendAttempt",
        summary: "Asks the budget before the sender is asked for another mail",
        body: Some("Nothing"),
        answers: &[(200, &["Grant"], "The sender may be asked.")],
        problems: &["resends-spent", "attempt-over"],
        key: Key::Required,
        ..PLAIN
    },
    Operation {
        method: "POST",
        path: "/v1/attempts/{attempt}/finish",
        id: "finishAttempt",
        summary: "Notes how an attempt ended",
        body: Some("Report"),
        needs_body: true,
        answers: &[(200, &["Attempt"], "It is finished.")],
        problems: &["attempt-over"],
        key: Key::Optional,
    },
    Operation {
        path: "/v1/inboxes",
        id: "listInboxes",
        summary: "Lists the key's inboxes in order of their addresses",
        answers: &[(200, &["InboxPage"], "A page.")],
        ..PLAIN
    },
    Operation {
        method: "POST",
        path: "/v1/inboxes",
        id: "createInbox",
        summary: "Makes an inbox",
        body: Some("InboxWish"),
        answers: &[(201, &["Inbox"], "It takes mail.")],
        problems: &["inbox-taken"],
        key: Key::Optional,
        ..PLAIN
    },
    Operation {
        path: "/v1/inboxes/{inbox}",
        id: "showInbox",
        summary: "Shows an inbox",
        answers: &[(200, &["Inbox"], "The inbox.")],
        ..PLAIN
    },
    Operation {
        method: "DELETE",
        path: "/v1/inboxes/{inbox}",
        id: "expireInbox",
        summary: "Ends an inbox: from now on it takes no mail",
        answers: &[(200, &["Inbox"], "It has ended.")],
        ..PLAIN
    },
    Operation {
        method: "POST",
        path: "/v1/inboxes/{inbox}/rotate",
        id: "rotateInbox",
        summary: "Gives an inbox a fresh address; the old one ends",
        body: Some("Nothing"),
        answers: &[(200, &["Inbox"], "The inbox under its new address.")],
        key: Key::Optional,
        ..PLAIN
    },
    Operation {
        path: "/v1/inboxes/{inbox}/artifacts",
        id: "listArtifacts",
        summary: "Lists what arrived in an inbox, in order, and waits for news if asked",
        answers: &[(200, &["ArtifactPage"], "A page; never a value.")],
        problems: &["cursor-epoch-changed", "cursor-expired"],
        ..PLAIN
    },
    Operation {
        path: "/v1/events",
        id: "events",
        summary: "Streams what arrives in an inbox as server-sent events",
        answers: &[(
            200,
            &[],
            "Events `artifact` with a cursor as id; at last `shutdown`.",
        )],
        problems: &[
            "not-found",
            "too-many-waits",
            "cursor-epoch-changed",
            "cursor-expired",
        ],
        ..PLAIN
    },
    Operation {
        path: "/v1/keys",
        id: "listKeys",
        summary: "Lists every key, also those that are over; never a token",
        answers: &[(200, &["KeyPage"], "All of them.")],
        ..PLAIN
    },
    Operation {
        method: "POST",
        path: "/v1/keys",
        id: "createKey",
        summary: "Makes a key and shows its token, once",
        body: Some("KeyWish"),
        needs_body: true,
        answers: &[(
            201,
            &["NewKey"],
            "The key with its token, which is not kept: a retry whose first answer was lost \
             is answered with 409.",
        )],
        problems: &["key-taken"],
        key: Key::Optional,
    },
    Operation {
        method: "DELETE",
        path: "/v1/keys/{name}",
        id: "revokeKey",
        summary: "Revokes the key of a name, in every process within 2 s",
        answers: &[(200, &["Key"], "It is revoked.")],
        ..PLAIN
    },
    Operation {
        method: "POST",
        path: "/v1/artifacts/{artifact}/consume",
        id: "consumeArtifact",
        summary: "Consumes an artifact of the feed",
        body: Some("Nothing"),
        answers: &[(200, &["Disclosure"], "The value, to this consumer alone.")],
        problems: &["already-consumed", "withheld", "superseded", "expired"],
        key: Key::Required,
        ..PLAIN
    },
];
