//! What every sender can do. One file in [`crate::provider`] for each says how the call
//! is made, which key it carries and for how long that is known, what each answer means,
//! how a mail is looked up, and how to test it without sending.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::ProviderKey;

use crate::acceptance::{Acceptance, LookUp};
use crate::mail::Mail;
use crate::prepared::Prepared;
use crate::reach::Reach;

/// A way to hand mail to one provider.
#[async_trait]
pub(crate) trait Transport: Send + Sync {
    /// The name of the provider.
    fn provider(&self) -> &'static str;

    /// The request for a mail.
    fn prepare(&self, mail: &Mail) -> Prepared;

    /// Hands a mail over, in one request. A send that was dispatched calls this once.
    async fn hand_over(&self, mail: &Prepared, key: &ProviderKey) -> Acceptance;

    /// Where the provider is, for the operator.
    fn place(&self) -> String;

    /// Whether the provider can be reached. Nothing is sent.
    async fn reach(&self) -> Reach;

    /// The longest time that [`Self::hand_over`] takes.
    fn timeout(&self) -> Duration;

    /// For how long after the first try the provider recognises a repetition by its key,
    /// less a margin. `None`: it never does.
    fn window(&self) -> Option<Duration> {
        None
    }

    /// Asks the provider for a mail that it may have accepted.
    async fn look_up(&self, _mail: &Prepared, _key: &ProviderKey) -> LookUp {
        LookUp::Unknown
    }

    /// Whether [`Self::look_up`] can find anything.
    fn can_look_up(&self) -> bool {
        false
    }
}

/// The name of the tag that carries the key, where a provider has tags.
pub(crate) const TAG: &str = ProviderKey::TAG;

/// Twenty hours: the 24 hours that providers keep a key, less a margin for clocks and for
/// a request that takes long.
pub(crate) const TWENTY_HOURS: Duration = Duration::from_hours(20);
