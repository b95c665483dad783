//! Each operation of the API: its bodies, its responses and its problems.

mod guards;
mod replies;
mod sends;

use crate::http::access::Access;

/// Whether an operation accepts an `Idempotency-Key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdempotencyKeyUse {
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
    /// Status, the names of its possible bodies, and its meaning. Without a body it is
    /// a stream of events.
    pub(super) answers: &'static [(u16, &'static [&'static str], &'static str)],
    /// The problems that only this operation can return.
    own_problems: &'static [&'static str],
    pub(super) key: IdempotencyKeyUse,
}

impl Operation {
    pub(super) fn is_for(&self, access: &Access) -> bool {
        self.method == access.method && self.path == access.path
    }

    /// The request headers: name, whether it is required, and its description.
    pub(super) fn headers(
        &self,
        access: &Access,
    ) -> impl Iterator<Item = (&'static str, bool, &'static str)> {
        let waits = access.query.contains(&"wait");
        let prefer = waits.then_some((
            "Prefer",
            false,
            "`wait=N` waits for up to N seconds (RFC 7240).",
        ));
        let last = (self.id == "events").then_some((
            "Last-Event-ID",
            false,
            "The id of the last event; the stream continues after it.",
        ));
        let key = (self.key != IdempotencyKeyUse::None).then_some((
            "Idempotency-Key",
            self.key == IdempotencyKeyUse::Required,
            "An identifier that you choose for this request. A retry with it gets the same response.",
        ));
        prefer.into_iter().chain(last).chain(key)
    }

    /// Whether a retry with the same key gets the same response, marked as repeated.
    pub(super) fn replays(&self) -> bool {
        // The server keeps only the hash of a token, so it shows the token once.
        self.key != IdempotencyKeyUse::None && self.id != "createKey"
    }

    /// All problems that it can return.
    pub(super) fn problems(&self, access: &Access) -> Vec<&'static str> {
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
        all.extend((self.key == IdempotencyKeyUse::Required).then_some("idempotency-key-required"));
        if self.key != IdempotencyKeyUse::None {
            all.extend(["idempotency-key-invalid", "idempotency-key-reused"]);
        }
        all.extend(self.own_problems);
        all
    }
}

/// The default of each field.
const DEFAULT: Operation = Operation {
    method: "GET",
    path: "",
    id: "",
    summary: "",
    body: None,
    needs_body: false,
    answers: &[],
    own_problems: &[],
    key: IdempotencyKeyUse::None,
};

/// All operations.
pub(super) fn operations() -> impl Iterator<Item = &'static Operation> {
    [MAIL, guards::GUARDS, sends::SENDS, replies::REPLIES]
        .into_iter()
        .flatten()
}

/// The operations for inbound mail, and those of the operator.
const MAIL: &[Operation] = &[
    Operation {
        method: "POST",
        path: "/v1/attempts",
        id: "openAttempt",
        summary: "Opens an attempt, before the mail is triggered",
        body: Some("AttemptWish"),
        answers: &[
            (201, &["Attempt"], "The attempt is open."),
            (
                200,
                &["Attempt"],
                "The reference or the idempotency key is known; this is its attempt.",
            ),
        ],
        own_problems: &["not-found", "reference-reused", "no-mail-domain"],
        key: IdempotencyKeyUse::Optional,
        ..DEFAULT
    },
    Operation {
        path: "/v1/attempts/{attempt}",
        id: "showAttempt",
        summary: "Returns the state of an attempt, and waits for a change if asked",
        answers: &[(200, &["Attempt"], "The state, without the value.")],
        ..DEFAULT
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
            "The value; or the state of the attempt, if there is nothing to consume.",
        )],
        own_problems: &["already-consumed"],
        key: IdempotencyKeyUse::Required,
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/attempts/{attempt}/resend",
        id: "resendAttempt",
        summary: "Uses one resend, before the agent requests another mail from the sender",
        body: Some("Nothing"),
        answers: &[(200, &["Grant"], "The agent may request another mail.")],
        own_problems: &["resends-spent", "attempt-over"],
        key: IdempotencyKeyUse::Required,
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/attempts/{attempt}/finish",
        id: "finishAttempt",
        summary: "Ends an attempt and records its outcome",
        body: Some("Report"),
        needs_body: true,
        answers: &[(200, &["Attempt"], "The attempt is finished.")],
        own_problems: &["attempt-over"],
        key: IdempotencyKeyUse::Optional,
    },
    Operation {
        path: "/v1/inboxes",
        id: "listInboxes",
        summary: "Lists the key's inboxes in order of their addresses",
        answers: &[(200, &["InboxPage"], "A page.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/inboxes",
        id: "createInbox",
        summary: "Creates an inbox",
        body: Some("InboxWish"),
        answers: &[(201, &["Inbox"], "The inbox accepts mail.")],
        own_problems: &["inbox-taken", "no-mail-domain"],
        key: IdempotencyKeyUse::Optional,
        ..DEFAULT
    },
    Operation {
        path: "/v1/inboxes/{inbox}",
        id: "showInbox",
        summary: "Returns an inbox",
        answers: &[(200, &["Inbox"], "The inbox.")],
        ..DEFAULT
    },
    Operation {
        method: "DELETE",
        path: "/v1/inboxes/{inbox}",
        id: "expireInbox",
        summary: "Ends an inbox: it accepts no more mail",
        answers: &[(200, &["Inbox"], "The inbox has ended.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/inboxes/{inbox}/rotate",
        id: "rotateInbox",
        summary: "Gives an inbox a new address and ends the old one",
        body: Some("Nothing"),
        answers: &[(200, &["Inbox"], "The inbox under its new address.")],
        own_problems: &["no-mail-domain"],
        key: IdempotencyKeyUse::Optional,
        ..DEFAULT
    },
    Operation {
        path: "/v1/inboxes/{inbox}/artifacts",
        id: "listArtifacts",
        summary: "Lists the items of an inbox in order, and waits for a new one if asked",
        answers: &[(200, &["ArtifactPage"], "A page, without values.")],
        own_problems: &["cursor-epoch-changed", "cursor-expired"],
        ..DEFAULT
    },
    Operation {
        path: "/v1/events",
        id: "events",
        summary: "Streams the items of an inbox as server-sent events",
        answers: &[(
            200,
            &[],
            "Events `artifact` with a cursor as id; the last event is `shutdown` or `problem`.",
        )],
        own_problems: &[
            "not-found",
            "too-many-waits",
            "cursor-epoch-changed",
            "cursor-expired",
        ],
        ..DEFAULT
    },
    Operation {
        path: "/v1/audit",
        id: "listConsumes",
        summary: "Lists who consumed which artifact, newest first, without values",
        answers: &[(200, &["ConsumePage"], "A page of consumes.")],
        ..DEFAULT
    },
    Operation {
        path: "/v1/keys",
        id: "listKeys",
        summary: "Lists every key, including revoked and expired ones, without tokens",
        answers: &[(200, &["KeyPage"], "All keys.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/keys",
        id: "createKey",
        summary: "Creates a key and returns its token, once",
        body: Some("KeyWish"),
        needs_body: true,
        answers: &[(
            201,
            &["NewKey"],
            "The key with its token. The server does not keep the token: a retry after a lost \
             response gets 409.",
        )],
        own_problems: &["key-taken"],
        key: IdempotencyKeyUse::Optional,
    },
    Operation {
        method: "DELETE",
        path: "/v1/keys/{name}",
        id: "revokeKey",
        summary: "Revokes the key with a name, in every process within 2 s",
        answers: &[(200, &["Key"], "The key is revoked.")],
        ..DEFAULT
    },
    Operation {
        method: "POST",
        path: "/v1/artifacts/{artifact}/consume",
        id: "consumeArtifact",
        summary: "Consumes an artifact of the list",
        body: Some("Nothing"),
        answers: &[(200, &["Disclosure"], "The value.")],
        own_problems: &["already-consumed", "withheld", "superseded", "expired"],
        key: IdempotencyKeyUse::Required,
        ..DEFAULT
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths in a row of the table of README.md.
    fn row(name: &str) -> Vec<&'static str> {
        let readme = include_str!("../../README.md");
        let section = readme.split("## Idempotency\n").nth(1).unwrap();
        let begins = format!("| {name} |");
        let row = section.lines().find(|line| line.starts_with(&begins));
        let texts = row.unwrap().split('`').skip(1).step_by(2);
        let mut paths: Vec<&str> = texts.collect();
        paths.sort_unstable();
        paths
    }

    #[test]
    fn readme_lists_the_operations_that_accept_an_idempotency_key() {
        for (name, key) in [
            ("required", IdempotencyKeyUse::Required),
            ("accepted", IdempotencyKeyUse::Optional),
        ] {
            let with_key = operations().filter(|operation| operation.key == key);
            let mut paths: Vec<&str> = with_key.map(|operation| operation.path).collect();
            paths.sort_unstable();
            assert_eq!(row(name), paths, "{name}");
        }
    }
}
