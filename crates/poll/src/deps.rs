//! What the poller works with.

use std::sync::Arc;

use pipeline::{Clock, Doorbell, PollLog, PollerId, SilenceLog, StorageQuota, Tasks};

use crate::meters::Meters;
use crate::settings::Settings;

/// What the poller works with.
pub struct Deps {
    /// Leases, cursors and the deliveries that polling found.
    pub polls: Arc<dyn PollLog>,
    /// When sources last posted, and how often they usually do.
    pub silence: Arc<dyn SilenceLog>,
    /// Notifies workers of new deliveries.
    pub doorbell: Arc<dyn Doorbell>,
    /// Tells whether a source may bring more mail.
    pub quota: Arc<StorageQuota>,
    /// The time, for sources that state none.
    pub clock: Arc<dyn Clock>,
    /// The id of this poller.
    pub poller: PollerId,
    /// Where the poller's tasks note their restarts and rounds.
    pub tasks: Tasks,
    /// The poller's metrics.
    pub meters: Meters,
    /// What an operator may set.
    pub settings: Settings,
}
