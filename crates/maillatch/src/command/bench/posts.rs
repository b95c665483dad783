//! The posts of a run: unique mails, signed before the clock starts.

use anyhow::{Context, Result};
use pipeline::InboxId;
use rand::RngExt;
use url::Url;

use client::{Delivery, Hook};

/// What to post.
pub(super) struct Plan<'a> {
    pub(super) mails: usize,
    pub(super) copies: usize,
    pub(super) size: usize,
    /// Over how many inboxes the mails are spread.
    pub(super) lanes: usize,
    pub(super) domain: &'a str,
}

/// Complete HTTP requests, in the order in which they are sent.
pub(super) struct Posts {
    requests: Vec<Vec<u8>>,
    inboxes: Vec<InboxId>,
    copies: usize,
}

impl Posts {
    /// Writes and signs every mail.
    pub(super) fn sign(plan: &Plan<'_>, hook: &Hook, url: &Url) -> Result<Self> {
        let run: u32 = rand::rng().random();
        let inbox = |lane: usize| format!("bench-{run:08x}-{lane}@{}", plan.domain).parse();
        let inboxes = (0..plan.lanes)
            .map(inbox)
            .collect::<Result<Vec<InboxId>, _>>()
            .with_context(|| format!("{} is not a domain for inboxes", plan.domain))?;
        let first: usize = rand::rng().random_range(0..900_000);
        let mut requests = Vec::with_capacity(plan.mails);
        for number in 0..plan.mails {
            let inbox = inboxes
                .get(number % inboxes.len())
                .context("a run has an inbox")?;
            // Codes of one inbox differ, because the same code twice is one artifact.
            let code = 100_000 + (first + number) % 900_000;
            let mail = mail(inbox, code, plan.size);
            let delivery = Delivery::of_mail(mail.as_bytes(), std::slice::from_ref(inbox));
            requests.push(request(hook, url, &delivery)?);
        }
        Ok(Self {
            requests,
            inboxes,
            copies: plan.copies,
        })
    }

    /// The request that is sent as number `index`, and its lane. `None` after the last.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], usize)> {
        let number = index / self.copies;
        let request = self.requests.get(number)?;
        Some((request, number % self.inboxes.len()))
    }

    /// How many requests are sent.
    pub(super) fn count(&self) -> usize {
        self.requests.len() * self.copies
    }

    /// How many different mails there are.
    pub(super) fn mails(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn inboxes(&self) -> &[InboxId] {
        &self.inboxes
    }
}

fn request(hook: &Hook, url: &Url, delivery: &Delivery) -> Result<Vec<u8>> {
    let signed = hook.sign(delivery)?;
    let (path, host) = (hook.path(), url.authority());
    let mut bytes = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: {}\r\nwebhook-id: {}\r\n\
         webhook-timestamp: {}\r\nwebhook-signature: {}\r\ncontent-length: {}\r\n\r\n",
        signed.content_type,
        signed.id,
        signed.timestamp,
        signed.signature,
        signed.body.len(),
    )
    .into_bytes();
    bytes.extend_from_slice(&signed.body);
    Ok(bytes)
}

/// A mail with a text and an HTML part of about the same size, and one code.
fn mail(to: &InboxId, code: usize, size: usize) -> String {
    let id = uuid::Uuid::now_v7().simple();
    let lead = "Your verification code is";
    let rest = size.saturating_sub(1_100) / 2;
    let text = filler(rest, "", "\r\n");
    let html = filler(rest, "<p style=\"color:#444444\">", "</p>\r\n");
    format!(
        "From: \"Example Accounts\" <no-reply@example.com>\r\nTo: <{to}>\r\n\
         Subject: Your Example verification code\r\nMessage-ID: <{id}@mail.example.com>\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=\"=_{id}\"\r\n\r\n\
         --=_{id}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\
         {lead} {code}\r\n\r\nIt expires in 10 minutes. Do not share it.\r\n{text}\r\n\
         --=_{id}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
         <!doctype html><html><head><style>p{{color:#222222}}</style></head><body>\r\n\
         <p>{lead}</p>\r\n<p style=\"font-size:32px\"><b>{code}</b></p>\r\n{html}</body></html>\r\n\
         --=_{id}--\r\n"
    )
}

/// Sentences such as a service adds below a code.
const SENTENCES: [&str; 6] = [
    "Somebody signs in to your account with this address, and we want to be sure that it is you.",
    "If it was not you, ignore this mail: without the code nobody can sign in.",
    "Our staff never asks for it, by phone or in a chat.",
    "You can change the address of your account at any time in your settings.",
    "We send this mail for each new device, so that your account stays yours.",
    "Example Accounts, 221 Harbour Street, Port Example.",
];

fn filler(size: usize, before: &str, after: &str) -> String {
    let mut text = String::with_capacity(size + 128);
    for sentence in SENTENCES.iter().cycle() {
        if text.len() >= size {
            break;
        }
        text.push_str(before);
        text.push_str(sentence);
        text.push_str(after);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mail_gives_its_code() {
        let inbox = "a@inbox.test".parse().unwrap();
        for code in [100_000, 202_611, 493_817, 700_000, 999_999] {
            for size in [2_000, 6_000, 60_000] {
                let mail = mail(&inbox, code, size);
                let read = extract::extract(mail.as_bytes(), &extract::Policy::default()).unwrap();
                let found = read.code.found().map(|found| found.value.clone());
                assert_eq!(found, Some(code.to_string()), "{size}");
            }
        }
    }

    #[test]
    fn mails_have_about_the_requested_size() {
        let inbox = "a@inbox.test".parse().unwrap();
        for size in [2_000, 6_000, 60_000] {
            let length = mail(&inbox, 493_817, size).len();
            assert!(length.abs_diff(size) < 300, "{size}: {length}");
        }
    }
}
