//! What the worker works with.

use std::sync::Arc;

use pipeline::{DeliveryLog, Doorbell, EchoLog, FailureLog, Meters, Probe, ServerKey, WorkLog};
use providers::Sources;
use tokio::sync::{Notify, RwLock};

use crate::fetch::Fetcher;
use crate::parser_threads::ParserThreads;
use crate::sender::Dkim;
use crate::settings::Settings;

/// What the worker works with.
pub struct Deps {
    /// Claims deliveries and ends claims.
    pub work: Arc<dyn WorkLog>,
    /// Recognises copies of our own mail.
    pub echoes: Arc<dyn EchoLog>,
    /// Finds due deliveries, for the sweeper.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// Notifies workers of due deliveries, for the sweeper.
    pub doorbell: Arc<dyn Doorbell>,
    /// Checks whether notifications get through, for the sweeper.
    pub queue: Arc<dyn Probe>,
    /// Dead letters, some of which are requeued at start.
    pub failures: Arc<dyn FailureLog>,
    /// The configured sources, which decode their deliveries.
    pub sources: Arc<Sources>,
    /// Shared by the mails that are read; a suspect has it alone.
    pub reading: RwLock<()>,
    /// Parses mails.
    pub parser_threads: ParserThreads,
    /// Fetches mail that a webhook does not carry.
    pub fetcher: Fetcher,
    /// Checks DKIM signatures; `None` when no DNS server is configured.
    pub dkim: Option<Dkim>,
    /// Notified when a completed delivery may have made a callback due.
    pub callback_due: Arc<Notify>,
    /// Derives message and artifact keys.
    pub server_key: ServerKey,
    /// Counters and histograms.
    pub meters: Meters,
    /// What an operator may set.
    pub settings: Settings,
}
