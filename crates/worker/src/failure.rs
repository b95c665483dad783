//! Why a delivery could not be processed.

use pipeline::{Class, Reason};

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

    /// Something of ours was missing; a later attempt may succeed.
    pub(crate) fn transient(reason: Reason) -> Self {
        let class = Class::Transient;
        Self { class, reason }
    }
}
