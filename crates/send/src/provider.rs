//! The senders, one file for each.

mod agentmail;
mod brevo;
mod mailgun;
mod nylas;
mod postmark;
mod resend;
mod sendgrid;
mod ses;
mod smtp;
mod sparkpost;

pub(crate) use agentmail::AgentMail;
pub(crate) use brevo::Brevo;
pub(crate) use mailgun::Mailgun;
pub(crate) use nylas::Nylas;
pub(crate) use postmark::Postmark;
pub(crate) use resend::Resend;
pub(crate) use sendgrid::SendGrid;
pub(crate) use ses::Ses;
pub(crate) use smtp::{Security, Smtp};
pub(crate) use sparkpost::SparkPost;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
