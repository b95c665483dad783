//! Sample mail like that of a real service: a text and an HTML part, a hidden
//! preheader, and near the code or link other numbers that are easily mistaken for
//! it.

mod encode;

use pipeline::{Clock, InboxId, SystemClock, Timestamp};
use rand::RngExt;
use rand::distr::Alphanumeric;

use encode::{mail_date, quoted_printable, year};

/// The kind of a sample mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// A six-digit one-time code.
    Otp,
    /// A link to sign in with.
    MagicLink,
}

impl SampleKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Otp, Self::MagicLink];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Otp => "otp",
            Self::MagicLink => "magic-link",
        }
    }
}

/// A mail and what the extractor must find in it.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its kind.
    pub kind: SampleKind,
    /// The code or the link.
    pub value: String,
    /// What must not be mistaken for it, and what each of them is.
    pub rivals: Vec<(String, &'static str)>,
    /// The raw mail.
    pub mail: Vec<u8>,
}

/// The random parts of a mail.
struct Story {
    value: String,
    year: String,
    order: String,
    phone: String,
}

/// A new mail to an inbox, with a new random code or link.
pub fn sample_mail(kind: SampleKind, to: &InboxId) -> Sample {
    let now = SystemClock.now();
    let mut random = rand::rng();
    let story = Story {
        value: match kind {
            SampleKind::Otp => random.random_range(100_000..=999_999).to_string(),
            SampleKind::MagicLink => {
                let token: String = (&mut random)
                    .sample_iter(Alphanumeric)
                    .take(32)
                    .map(char::from)
                    .collect();
                format!("https://example.com/sign-in?token={token}")
            }
        },
        year: year(now),
        order: random.random_range(1_000_000..=9_999_999).to_string(),
        phone: format!("555-01{:02}", random.random_range(0..=99)),
    };
    let (subject, text, html) = match kind {
        SampleKind::Otp => otp(&story),
        SampleKind::MagicLink => magic_link(&story),
    };
    Sample {
        kind,
        mail: multipart(to, now, subject, [&text, &html]),
        rivals: vec![
            (story.year, "year"),
            (story.phone, "phone"),
            (story.order, "order number"),
        ],
        value: story.value,
    }
}

fn otp(story: &Story) -> (&'static str, String, String) {
    let Story { value, .. } = story;
    let lead = "Your verification code is";
    let text = format!(
        "{lead} {value}\n\nIt expires in 10 minutes. Do not share it.\n{}",
        footer(story)
    );
    let block = format!(
        "<p>{lead}</p>\n<p style=\"font-size:32px;letter-spacing:4px\"><b>{value}</b></p>\n\
         <p>It expires in 10 minutes. Do not share it.</p>"
    );
    ("Your Example verification code", text, html(story, &block))
}

fn magic_link(story: &Story) -> (&'static str, String, String) {
    let Story { value, .. } = story;
    let lead = "Use this link to sign in to your Example account";
    let text = format!(
        "{lead}:\n\n{value}\n\nIt works once, for 10 minutes.\n{}",
        footer(story)
    );
    let block = format!(
        "<p>{lead}:</p>\n<p><a href=\"{value}\" style=\"padding:12px 24px\">Sign in</a></p>\n\
         <p>It works once, for 10 minutes.</p>"
    );
    ("Sign in to Example", text, html(story, &block))
}

/// The rivals, where real mails have them.
fn footer(story: &Story) -> String {
    let Story {
        year, order, phone, ..
    } = story;
    format!(
        "\nYou get this mail because of order {order}, placed with Example Shop.\n\
         Questions? Call +1 {phone}.\n\
         (c) {year} Example Shop, 221 Harbour Street\n"
    )
}

fn html(story: &Story, block: &str) -> String {
    let footer = footer(story).trim().replace('\n', "<br>\n");
    format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"><style>p{{color:#222}}</style></head>\n\
         <body>\n<div style=\"display:none;max-height:0;overflow:hidden\">\
         Reference 848484 for support staff only</div>\n\
         {block}\n<hr>\n<p style=\"color:#888\">{footer}</p>\n</body></html>\n"
    )
}

fn multipart(to: &InboxId, now: Timestamp, subject: &str, [text, html]: [&String; 2]) -> Vec<u8> {
    let id = uuid::Uuid::now_v7().simple();
    let boundary = format!("=_{}", uuid::Uuid::new_v4().simple());
    let part = |kind: &str, body: &str| {
        format!(
            "--{boundary}\r\nContent-Type: {kind}; charset=utf-8\r\n\
             Content-Transfer-Encoding: quoted-printable\r\n\r\n{}\r\n",
            quoted_printable(body)
        )
    };
    let headers = format!(
        "Received: from out.example.com (out.example.com [192.0.2.25]) by mx.inbox.test; {date}\r\n\
         From: \"Example Accounts\" <no-reply@example.com>\r\n\
         To: <{to}>\r\n\
         Subject: {subject}\r\n\
         Date: {date}\r\n\
         Message-ID: <{id}@mail.example.com>\r\n\
         Auto-Submitted: auto-generated\r\n\
         MIME-Version: 1.0\r\n\
         Content-Type: multipart/alternative; boundary=\"{boundary}\"\r\n\r\n",
        date = mail_date(now),
    );
    let parts = [part("text/plain", text), part("text/html", html)].concat();
    format!("{headers}{parts}--{boundary}--\r\n").into_bytes()
}

#[cfg(test)]
mod tests;
