//! How a provider's mail can be polled.

/// How the mail of a source is polled, and how the settings name its inboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polling {
    /// Which client the poller uses.
    pub client: PollClient,
    /// Which setting names the inboxes whose mail the source can hold.
    pub inboxes: InboxSetting,
}

/// The client that polls a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollClient {
    /// `AgentMail`'s API.
    AgentMail,
    /// Files on this machine.
    Folder,
    /// An HTTP list that the settings describe.
    HttpList,
    /// A mailbox, by IMAP.
    Imap,
    /// Mailgun's API.
    Mailgun,
    /// Mailhook's API.
    Mailhook,
    /// Nylas's API.
    Nylas,
    /// Postmark's API.
    Postmark,
    /// Resend's API.
    Resend,
}

/// Which setting names the inboxes whose mail a polled source can hold. When it names
/// none, the source can hold mail for every inbox of its `domains`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxSetting {
    /// `poll.accounts`: an account's name is the inbox's address.
    Accounts,
    /// `poll.deliver_to`.
    DeliverTo,
    /// `recipient`.
    Recipient,
}

impl Polling {
    /// Polls with this client; `poll.deliver_to` names the inboxes.
    pub(crate) const fn with(client: PollClient) -> Self {
        Self {
            client,
            inboxes: InboxSetting::DeliverTo,
        }
    }
}
