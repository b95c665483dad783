//! Measures what it takes to read one ordinary mail, and to decide under an allowlist.
//!
//! `cargo bench -p extract --bench mail` measures the time. `tests/bench/instructions`
//! counts the instructions, which hardly differ between runs.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::Criterion;
use extract::{Allowlist, Decision, Policy, ReadMail, read};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let links = Allowlist::parse(["*.example.com"]).unwrap_or_else(|_| Allowlist::any());
    let policy = Policy {
        links,
        ..Policy::default()
    };
    for (name, mail) in [("code", with_code()), ("link", with_links())] {
        // The lexicons are built on first use; do not count that.
        let known = read(&mail);
        criterion.bench_function(&format!("read/{name}"), |bench| {
            bench.iter(|| measured_read(&mail));
        });
        if let Ok(known) = known {
            criterion.bench_function(&format!("decide/{name}"), |bench| {
                bench.iter(|| measured_decide(&known, &policy));
            });
        }
    }
    criterion.final_summary();
}

/// Callgrind counts what happens inside functions of this name.
#[inline(never)]
fn measured_read(mail: &[u8]) -> bool {
    black_box(read(black_box(mail))).is_ok()
}

#[inline(never)]
fn measured_decide(mail: &ReadMail, policy: &Policy) -> Decision {
    black_box(mail).decide(black_box(policy))
}

const SENTENCES: [&str; 6] = [
    "Somebody signs in to your account with this address, and we want to be sure that it is you.",
    "If it was not you, ignore this mail: without the code nobody can sign in.",
    "Our staff never asks for it, by phone or in a chat.",
    "You can change the address of your account at any time in your settings.",
    "We send this mail for each new device, so that your account stays yours.",
    "Example Accounts, 221 Harbour Street, Port Example.",
];

/// 6 KB of text and HTML with a code, such as `maillatch bench` posts.
fn with_code() -> Vec<u8> {
    let mut text = String::from("Your verification code is 738241\r\n\r\nIt expires soon.\r\n");
    let mut html = String::from(
        "<!doctype html><html><head><style>p{color:#222222}</style></head><body>\r\n\
         <p>Your verification code is</p>\r\n<p style=\"font-size:32px\"><b>738241</b></p>\r\n",
    );
    for sentence in SENTENCES.iter().cycle() {
        let _ = write!(text, "{sentence}\r\n");
        let _ = write!(html, "<p style=\"color:#444444\">{sentence}</p>\r\n");
        if text.len() + html.len() > 5_500 {
            break;
        }
    }
    mail("Your Example verification code", &text, &html)
}

/// The same with a button, links in a footer, tables and a longer style sheet.
fn with_links() -> Vec<u8> {
    let action = "https://app.example.com/verify-email?token=eyJhbGciOiJIUzI1NiJ9.c2Vzc2lvbi10b2t";
    let text = format!(
        "Hello Alex,\r\n\r\nPlease confirm your email address:\r\n{action}\r\n\r\n\
         Or enter this verification code on the page: 482913\r\n\r\n\
         Help: https://example.com/help\r\nUnsubscribe: https://example.com/unsubscribe?u=1837\r\n"
    );
    let mut html = String::from(
        "<html><head><style>body{margin:0;background:#f4f4f7}.preheader{display:none!important}\
         .button{background-color:#3869D4;display:inline-block;color:#FFF}p.sub{font-size:13px}\
         @media(max-width:600px){.inner,.footer{width:100%!important}}</style></head><body>\r\n\
         <span class=\"preheader\">Confirm your address.</span>\r\n",
    );
    let cell = "<table width=\"100%\" cellpadding=\"0\" role=\"presentation\"><tr>\
                <td class=\"cell\" align=\"center\" style=\"padding:12px 24px;font-size:16px\">";
    let label = format!("<a href=\"{action}\" class=\"button\">Confirm email address</a>");
    let code = "<p style=\"font-size:32px;letter-spacing:6px\">482913</p>";
    let rows = [&label, "Or enter this verification code on the page:", code];
    for row in rows.into_iter().chain(SENTENCES) {
        let _ = write!(html, "{cell}{row}</td></tr></table>\r\n");
    }
    for (path, label) in [
        ("help", "Help"),
        ("privacy", "Privacy"),
        ("unsubscribe?u=1837", "Stop"),
    ] {
        let _ = write!(
            html,
            "<a href=\"https://example.com/{path}\">{label}</a> &middot;\r\n"
        );
    }
    mail("Confirm your email address", &text, &html)
}

fn mail(subject: &str, text: &str, html: &str) -> Vec<u8> {
    let head = "From: \"Example Accounts\" <no-reply@example.com>\r\nTo: <alex@inbox.test>\r\n\
                Message-ID: <1@mail.example.com>\r\nMIME-Version: 1.0\r\n";
    let part = |kind: &str, body: &str| {
        format!("--b\r\nContent-Type: text/{kind}; charset=utf-8\r\n\r\n{body}\r\n")
    };
    let (plain, html) = (part("plain", text), part("html", html));
    format!(
        "{head}Subject: {subject}\r\nContent-Type: multipart/alternative; boundary=\"b\"\r\n\r\n\
         {plain}{html}--b--\r\n"
    )
    .into_bytes()
}
