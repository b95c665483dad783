//! The groups of operations, in the order in which a reader needs them.

/// Each group with its description.
pub(super) const TAGS: &[(&str, &str)] = &[
    (
        "attempts",
        "Open an attempt, use its address, and consume its one code or link. Begin here.",
    ),
    (
        "artifacts",
        "What arrived in an inbox, in order, and the consume of one item.",
    ),
    ("inboxes", "The addresses of a key."),
    (
        "sends",
        "Guards for actions, mails that are sent once for each intent, and one reply to a \
         message.",
    ),
    ("operators", "Keys, and who consumed what."),
    ("mail", "How a provider or a mail server delivers mail."),
];

/// The group of a path.
pub(super) fn tag_of(path: &str) -> &'static str {
    match path {
        "/v1/events" | "/v1/inboxes/{inbox}/artifacts" => "artifacts",
        path if path.starts_with("/v1/artifacts") => "artifacts",
        path if path.starts_with("/v1/attempts") => "attempts",
        path if path.starts_with("/v1/inboxes") => "inboxes",
        path if path.starts_with("/v1/guards") || path.starts_with("/v1/send") => "sends",
        path if path.starts_with("/v1/messages") || path.starts_with("/v1/threads") => "sends",
        _ => "operators",
    }
}
