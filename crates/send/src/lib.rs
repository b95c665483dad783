//! Sends mail at most once for each intent.
//!
//! An agent orders a mail by a template and values ([`Desk`]). The mail is rendered once;
//! its bytes are stored, and nothing else is ever sent for this intent. [`run()`] hands
//! them to the provider of the sender in one request, after the database knows that this
//! may have happened. What the provider answered, or did not, is one of four things:
//! sent, not sent, refused, or *maybe*. A *maybe* is settled by a repetition that the
//! provider recognises by its key, by asking the provider, or by the operator.
//!
//! This crate never sees a mail that was received: of one that is answered it gets the
//! sender's address, the subject and the ids. It never speaks SQL, never repeats a request
//! by itself and never follows a redirect.
//!
//! Read it in this order: [`acceptance`] (what can be known), [`transport`] and
//! [`provider`] (one file for each way to send), [`template`] and [`mail`] (what is sent),
//! [`desk`] (the order, and that of a reply), [`dispatch`] and [`settle`] (one send),
//! [`run()`] (all sends).

mod acceptance;
mod approval;
mod settings;

mod backoff;
mod meters;
mod patience;

mod braces;
mod encoded_word;
mod header_text;
mod links;
mod mail;
mod mailbox;
mod prepared;
mod template;

mod http;
mod provider;
mod reach;
mod status;
mod transport;

mod recipients;
mod sender;
mod senders;

mod desk;
mod dispatch;
mod run;
mod settle;

pub use approval::Approval;
pub use desk::Desk;
pub use mailbox::MailboxError;
pub use meters::Meters;
pub use reach::Reach;
pub use run::{Sending, run};
pub use sender::SenderFlaw;
pub use senders::{Senders, SendersError};
pub use settings::{OnUncertain, SendSettings, SendSettingsError, SenderSettings, SmtpTls};
pub use template::{TemplateFlaw, TemplateSettings, ValueKind, ValueSettings};
