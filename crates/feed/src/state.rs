//! What all requests share.

mod backlog;
mod limits;
mod wait_slots;

use std::sync::Arc;

use pipeline::{
    AgentLog, AttemptLog, AuditLog, DeliveryLog, GuardLog, InboxLog, Meters, SendDesk, SendLog,
    ServerKey, ThreadLog,
};
use tokio_util::sync::CancellationToken;

use crate::auth::Keys;
use crate::policy::Policy;
use crate::settings::Settings;

use backlog::BacklogCache;
pub(crate) use limits::{BudgetKind, BudgetState, Charge, Limits, announce, is_failed_consume};
pub(crate) use wait_slots::WaitSlot;
use wait_slots::WaitSlots;

/// What the feed needs from the rest of the process.
#[derive(Clone)]
pub struct Deps {
    /// Where artifacts are read and consumed.
    pub log: Arc<dyn AgentLog>,
    /// Who owns which inbox.
    pub inboxes: Arc<dyn InboxLog>,
    /// The attempts that agents have opened.
    pub attempts: Arc<dyn AttemptLog>,
    /// Who consumed what, for the operator.
    pub audit: Arc<dyn AuditLog>,
    /// How much mail is unprocessed, for an attempt that is still pending.
    pub deliveries: Arc<dyn DeliveryLog>,
    /// The intents that agents have claimed.
    pub guards: Arc<dyn GuardLog>,
    /// The sends that agents have asked for.
    pub sends: Arc<dyn SendLog>,
    /// Messages and the threads that they are answered in, without what people wrote.
    pub threads: Arc<dyn ThreadLog>,
    /// Renders and records sends; `None` if no sender is configured.
    pub desk: Option<Arc<dyn SendDesk>>,
    /// The valid API keys.
    pub keys: Arc<Keys>,
    /// Signs cursors and derives the keys of intents. All processes of a deployment must
    /// share it; otherwise a cursor from one process is refused by the next, and one
    /// intent is acted on twice.
    pub cursor_key: ServerKey,
    /// Counters and gauges.
    pub meters: Meters,
    /// The configured limits.
    pub settings: Settings,
    /// What agents may ask for.
    pub policy: Policy,
    /// Cancelled when the process is stopping. Open waits are then answered.
    pub shutdown: CancellationToken,
}

/// [`Deps`] and what the feed itself shares between its threads.
pub(crate) struct Feed {
    pub(crate) deps: Deps,
    pub(crate) wait_slots: Arc<WaitSlots>,
    pub(crate) limits: Limits,
    pub(crate) backlog: BacklogCache,
}

impl Feed {
    pub(crate) fn new(deps: Deps) -> Self {
        Self {
            wait_slots: WaitSlots::new(deps.settings.max_waits, deps.meters.waiting.clone()),
            limits: Limits::new(&deps.settings.budgets),
            backlog: BacklogCache::new(Arc::clone(&deps.deliveries)),
            deps,
        }
    }
}
