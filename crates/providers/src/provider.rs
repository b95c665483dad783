//! The registry of providers: one row each, and one file each with the code behind it.
//!
//! The comment of each file says what a request holds (`Request:`), which time counts
//! as received (`Received:`), every status that we answer and why (`Answers:`), and how
//! to set it up (`Set-up:`).
//!
//! Besides, every provider gets 404 if no source has the name, 405 for anything but a
//! post and its own handshake, 400 and 408 if the body is cut off or too slow, and 415 if
//! it is compressed or has no usable type. The last three are replaced where they would
//! lose mail (`Answers::unread`).
//!
//! To add a provider: write its file with a `CONTRACT`, and add the row here. `source
//! add`, the poller, the tests and the README's table follow from the row.

mod agentmail;
mod cloudflare;
mod cloudmailin;
mod generic;
mod github_style;
mod mailersend;
mod mailgun;
mod mailhook;
mod mandrill;
mod native;
mod nylas;
mod poll_only;
mod postal;
mod postmark;
mod relay;
pub(crate) mod resend;
mod sendgrid;
mod ses_sns;
pub(crate) mod standard_webhooks;
mod stripe_style;

use crate::contract::Contract;

pub(crate) use ses_sns::s3_url;

/// Every provider, by name.
const REGISTRY: [&Contract; 21] = [
    &agentmail::CONTRACT,
    &cloudflare::CONTRACT,
    &cloudmailin::CONTRACT,
    &poll_only::FOLDER,
    &generic::CONTRACT,
    &github_style::CONTRACT,
    &poll_only::HTTP_LIST,
    &poll_only::IMAP,
    &mailersend::CONTRACT,
    &mailgun::CONTRACT,
    &mailhook::CONTRACT,
    &mandrill::CONTRACT,
    &nylas::CONTRACT,
    &postal::CONTRACT,
    &postmark::CONTRACT,
    &relay::CONTRACT,
    &resend::CONTRACT,
    &sendgrid::CONTRACT,
    &ses_sns::CONTRACT,
    &standard_webhooks::CONTRACT,
    &stripe_style::CONTRACT,
];

/// Every provider, by name.
pub fn contracts() -> impl Iterator<Item = &'static Contract> {
    REGISTRY.into_iter()
}

/// The provider of this name.
pub fn contract(name: &str) -> Option<&'static Contract> {
    contracts().find(|contract| contract.name == name)
}

#[cfg(test)]
mod tests;
