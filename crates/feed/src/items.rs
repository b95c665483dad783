//! `/v1/inboxes/{inbox}/artifacts`, `/v1/events` and `/v1/artifacts`: the artifacts of
//! an inbox, listed, streamed and consumed.

mod consume;
mod cursor;
mod events;
mod item_body;
mod list;
mod page_request;
mod shown_sender;
mod wait;

pub(crate) use consume::{DisclosureBody, consume};
pub(crate) use events::events;
pub(crate) use item_body::ItemBody;
pub(crate) use list::{PageBody, list};
pub(crate) use shown_sender::ShownSender;
pub(crate) use wait::{WakeUp, sleep_until_change};
