//! `/v1/sends`: an agent asks for a mail, and the operator decides about it. No answer
//! has the recipient or the content.

mod batch;
mod decide;
mod list;
mod order;
mod order_body;
mod reply;
mod send_body;
mod senders;
mod show;

use pipeline::{GuardId, SendId};

use crate::http::problem::Problem;

pub(crate) use batch::{BatchBody, BatchRequestBody, order_many};
pub(crate) use decide::{SettleRequestBody, approve, cancel, refuse, settle};
pub(crate) use list::list;
pub(crate) use order::order;
pub(crate) use order_body::SendRequestBody;
pub(crate) use reply::{ReplyRequestBody, reply_to};
pub(crate) use send_body::{NEXT, SendBody, SendPageBody};
pub(crate) use senders::{SenderPageBody, senders};
pub(crate) use show::show;

/// The send that a path names, or the guard: both are settled in the same way. A
/// malformed id is answered like an unknown one.
fn send_of(path: &str) -> Result<SendId, Problem> {
    let guard = path.parse::<GuardId>();
    let guard = guard.map(|guard| SendId::from_uuid(guard.as_uuid()));
    let send = path.parse::<SendId>().or(guard);
    send.map_err(|_invalid| Problem::NotFound)
}
