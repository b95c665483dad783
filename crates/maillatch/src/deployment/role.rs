//! The roles of the processes of a deployment.

/// One of the roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Receives posts.
    Webhook,
    /// Processes deliveries.
    Worker,
    /// Serves agents.
    Feed,
    /// Polls sources for their mail.
    Poll,
    /// Hands mail to providers.
    Send,
}

impl Role {
    /// The command that starts a process of this role.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Worker => "worker",
            Self::Feed => "feed",
            Self::Poll => "poll",
            Self::Send => "send",
        }
    }
}
