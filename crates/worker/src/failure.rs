//! Why a delivery could not be processed.

use pipeline::{Class, Reason, StoreError};

/// The reason of a retry after an outage of our own database.
pub(crate) const STORE_UNAVAILABLE: Reason = Reason::new("store_unavailable");

/// The reason of a retry after our own database refused something for good.
const STORE_BROKEN: Reason = Reason::new("store_broken");

/// Why a delivery could not be processed, and whether a retry may help.
pub(crate) struct Failure {
    pub(crate) class: Class,
    pub(crate) reason: Reason,
}

impl Failure {
    /// The same bytes would fail again.
    pub(crate) fn permanent(reason: Reason) -> Self {
        let class = Class::Permanent;
        Self { class, reason }
    }

    /// Somebody else's server is unavailable. The retry is not counted as an
    /// attempt of this delivery.
    pub(crate) fn upstream(reason: Reason) -> Self {
        let class = Class::Upstream;
        Self { class, reason }
    }

    /// Our own database is unavailable. That is never the mail's fault: the delivery is
    /// retried until the database answers, and no attempt is counted.
    pub(crate) fn store_unavailable() -> Self {
        let (class, reason) = (Class::Upstream, STORE_UNAVAILABLE);
        Self { class, reason }
    }

    /// A failure of our own database. An outage counts as no attempt. A refusal is logged and
    /// counts as one: it may be this mail that the database refuses, and then the mail is
    /// dead-lettered in the end.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        match error.class() {
            Class::Permanent => {
                let error: &dyn std::error::Error = error;
                tracing::warn!(error, "the database refused what a delivery needs");
                Self::transient(STORE_BROKEN)
            }
            Class::Transient | Class::Upstream => Self::store_unavailable(),
        }
    }

    /// Whether our own database was unavailable.
    pub(crate) fn is_store_outage(&self) -> bool {
        self.reason == STORE_UNAVAILABLE
    }

    /// Something of ours was missing; a later attempt may succeed.
    pub(crate) fn transient(reason: Reason) -> Self {
        let class = Class::Transient;
        Self { class, reason }
    }
}
