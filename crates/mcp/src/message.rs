//! Which message an attempt is about, so that a model can answer it.
//!
//! An address may have other attempts, and mail that came before this one. Their messages
//! are somebody else's: a reply to one of them would go to the wrong person.

use std::time::Duration;

use client::{Attempt, CallError, Client, Item};
use serde_json::Value;

/// The most pages that are read. A list begins with the oldest item, and the message of an
/// attempt is among the newest.
const MAX_PAGES: usize = 100;

/// The message of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AttemptMessage {
    /// The last one that belongs to the attempt; its id.
    Last(String),
    /// No message has arrived for the attempt.
    Nothing,
    /// The list of the inbox cannot be read to its end: the key lacks the scope, the server
    /// does not answer, or there are more than [`MAX_PAGES`] pages.
    Unknown,
}

/// The message of the attempt's artifact; without an artifact, the last message that belongs
/// to the attempt.
pub(crate) async fn message_of(client: &Client, attempt: &Attempt) -> AttemptMessage {
    let of_value = attempt.body.pointer("/artifact/message");
    if let Some(message) = of_value.and_then(Value::as_str) {
        return AttemptMessage::Last(message.to_owned());
    }
    last_listed(client, attempt)
        .await
        .unwrap_or(AttemptMessage::Unknown)
}

/// The newest item of the inbox that belongs to the attempt; `None` if the list cannot be
/// read to its end.
async fn last_listed(client: &Client, attempt: &Attempt) -> Option<AttemptMessage> {
    let inbox = attempt.inbox.parse().ok()?;
    let mut cursor: Option<String> = None;
    let mut last: Option<Item> = None;
    for _ in 0..MAX_PAGES {
        let listed = client.list(&inbox, cursor.as_deref(), Duration::ZERO).await;
        let page = match listed {
            Ok(page) => page,
            // Items in the middle of the list were deleted; it goes on after them.
            Err(CallError::Refused { complaint, .. }) => {
                cursor = Some(complaint.oldest?);
                continue;
            }
            Err(_) => return None,
        };
        if page.items.is_empty() {
            let last = last.map(|item| AttemptMessage::Last(item.message));
            return Some(last.unwrap_or(AttemptMessage::Nothing));
        }
        let own = page.items.into_iter().filter(|item| is_of(attempt, item));
        // Of two that were received at the same moment, the later item wins.
        last = last.into_iter().chain(own).max_by(by_receipt);
        cursor = Some(page.next_cursor);
    }
    None
}

fn by_receipt(one: &Item, other: &Item) -> std::cmp::Ordering {
    one.received_at.cmp(&other.received_at)
}

/// Whether an item was given to the attempt, or was received while the attempt was open
/// and given to no other. The server writes all times in one format whose order is the
/// order of the times.
fn is_of(attempt: &Attempt, item: &Item) -> bool {
    match &item.attempt {
        Some(id) => *id == attempt.id,
        None => item.received_at >= attempt.opened_at && item.received_at < attempt.deadline,
    }
}

#[cfg(test)]
mod tests;
