//! `/v1/inboxes`: the addresses of a caller.

mod address;
mod create;
mod inbox_body;
mod list;
mod manage;
mod rules;

pub(crate) use address::new_address;
pub(crate) use create::{InboxRequestBody, create};
pub(crate) use inbox_body::{INBOX_STATES, InboxBody};
pub(crate) use list::{InboxPageBody, list};
pub(crate) use manage::{expire, rotate, show};
pub(crate) use rules::{RulesBody, set_rules, show_rules};
