//! The idempotency keys of the calls. They are derived from the arguments alone, so a
//! call that is repeated after a broken stream is the same request for the server. The
//! server keeps the keys of each API key apart, so another caller gets nothing by them.

use client::Attempt;

/// The key of a consume. After a resend it is another one: the model then waits for
/// the newer mail.
pub(crate) fn consume(attempt: &Attempt) -> String {
    format!("mcp-{}-{}", attempt.id, attempt.resends_left)
}

/// The key of a resend, by its number.
pub(crate) fn resend(attempt: &str, number: u64) -> String {
    format!("mcp-{attempt}-resend-{number}")
}
