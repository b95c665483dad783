//! What the poller watches besides its sources: inboxes that somebody waits for, and
//! sources that have gone silent.

pub(crate) mod silent_sources;
pub(crate) mod waiting_inboxes;
