//! Who calls: API keys of the configuration and of the database.

mod caller;
mod database_keys;
mod key_order;
mod keys;
mod token;

pub(crate) use caller::Caller;
pub use key_order::{KeyOrder, KeyOrderError};
pub(crate) use key_order::{MAX_INBOXES, MAX_LIFETIME, MAX_NAME_LENGTH};
pub use keys::{KeySettings, Keys, KeysError};
