//! Measures typical mails per second, and how the cost grows with the size.
//!
//! `cargo bench -p extract` prints both: one core, the best of many rounds by the clock,
//! and the mean by processor time.

use std::time::{Duration, Instant};

use extract::{Allowlist, Policy, extract};

/// Many short rounds, so that one of them runs while the machine is idle.
const ROUNDS: u32 = 50;
const MAILS_A_ROUND: u32 = 50;

#[expect(clippy::print_stdout, reason = "a benchmark reports to its caller")]
fn main() {
    let policy = Policy::default();
    let typical = typical_mail(20 * 1024);
    assert!(extract(&typical, &policy).is_ok_and(|mail| mail.code.found().is_some()));
    let best = (0..ROUNDS)
        .map(|_| time(MAILS_A_ROUND, || extract(&typical, &policy).is_ok()))
        .min()
        .unwrap_or_default();
    report("by the clock", typical.len(), best);
    let before = processor_time();
    time(ROUNDS * MAILS_A_ROUND, || {
        extract(&typical, &policy).is_ok()
    });
    let spent = processor_time().zip(before);
    if let Some(spent) = spent.and_then(|(after, before)| after.checked_sub(before)) {
        let each = spent / (ROUNDS * MAILS_A_ROUND);
        report("by processor time", typical.len(), each);
    }
    under_twenty_allowlists(&typical);
    for kind in ["html", "text", "attachment", "markup", "parts"] {
        println!("\n{kind}");
        for kib in [64, 256, 1024, 4096, 10_200] {
            let mail = large_mail(kind, kib * 1024);
            let best = (0..3)
                .map(|_| time(1, || extract(&mail, &policy).is_ok()))
                .min()
                .unwrap_or_default();
            let rate =
                f64::from(u32::try_from(mail.len()).unwrap_or(u32::MAX)) / best.as_secs_f64() / 1e6;
            println!(
                "  {:>9} bytes  {:>9.2} ms  {rate:>8.1} MB/s",
                mail.len(),
                micros(best) / 1e3
            );
        }
    }
}

/// An inbox with twenty attempts has up to twenty allowlists: the mail is read once.
#[expect(clippy::print_stdout, reason = "a benchmark reports to its caller")]
fn under_twenty_allowlists(mail: &[u8]) {
    let policies: Vec<Policy> = (0..20)
        .map(|number| Policy {
            links: Allowlist::parse([format!("host{number}.example.com")])
                .unwrap_or_else(|_| Allowlist::any()),
            ..Policy::default()
        })
        .collect();
    let decided = |policies: &[Policy]| {
        let before = processor_time().unwrap_or_default();
        time(ROUNDS * MAILS_A_ROUND, || {
            let decide = |read: extract::ReadMail| {
                for policy in policies {
                    std::hint::black_box(read.decide(policy));
                }
            };
            extract::read(mail).map(decide).is_ok()
        });
        processor_time().unwrap_or_default().saturating_sub(before)
    };
    let (one, twenty) = (
        decided(policies.get(..1).unwrap_or(&[])),
        decided(&policies),
    );
    let ratio = twenty.as_secs_f64() / one.as_secs_f64();
    println!("twenty allowlists against one: {ratio:.2} times the time");
}

#[expect(clippy::print_stdout, reason = "a benchmark reports to its caller")]
fn report(how: &str, size: usize, each: Duration) {
    println!(
        "typical mail   {size:>8} bytes  {:>9.1} us  {:>8.0} mails/s  {how}",
        micros(each),
        1e6 / micros(each)
    );
}

/// The processor time of this process, if the system reports it. Other processes do not
/// count, except for their use of the caches.
fn processor_time() -> Option<Duration> {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanoseconds = schedule.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn time(times: u32, run: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    let mut done = 0_u32;
    for _ in 0..times {
        done += u32::from(run());
    }
    std::hint::black_box(done);
    start.elapsed() / times
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Text and HTML with a style sheet, nested tables, a button and a footer.
fn typical_mail(size: usize) -> Vec<u8> {
    let mut html = String::from(
        "<!doctype html><html><head><style>body{margin:0}.preheader{display:none!important}.btn{color:#fff;background:#06c}\
         @media(max-width:480px){.col{width:100%!important}}</style></head><body>\
         <div class=\"preheader\">Your code inside &zwnj;&nbsp;&zwnj;&nbsp;</div>",
    );
    let row = "<table role=\"presentation\" cellpadding=\"0\" style=\"border-collapse:collapse;width:100%\"><tr>\
               <td style=\"padding:12px 24px;font-family:Helvetica,Arial,sans-serif;font-size:14px;color:#333\">\
               We are glad to have you with us, and this line says so at some length.</td></tr></table>\n";
    html.push_str("<p>Hello Alex,</p><p>Use this verification code to sign in:</p><h1 style=\"letter-spacing:6px\">482913</h1>");
    while html.len() < size * 3 / 4 {
        html.push_str(row);
    }
    html.push_str(
        "<p>It expires in 10 minutes.</p><a href=\"https://acme.com/help\">Help</a></body></html>",
    );
    let mut text =
        String::from("Hello Alex,\n\nUse this verification code to sign in:\n\n482913\n\n");
    while text.len() < size / 4 {
        text.push_str("We are glad to have you with us, and this line says so at some length.\n");
    }
    mail(&[("text/plain", &text), ("text/html", &html)])
}

fn large_mail(kind: &str, size: usize) -> Vec<u8> {
    match kind {
        "html" => mail(&[(
            "text/html",
            &"<div style=\"color:#333\"><p>word 123456 word</p></div>\n".repeat(size / 54),
        )]),
        "text" => mail(&[(
            "text/plain",
            &"your order 123456 of the day is on its way\n".repeat(size / 43),
        )]),
        "attachment" => mail(&[
            ("text/plain", "Your code is 482913"),
            ("application/zip", &"UEsDBBQAAAAIAAAA\n".repeat(size / 17)),
        ]),
        "markup" => mail(&[("text/html", &"<".repeat(size))]),
        _ => {
            let part = "x".repeat(size / 450);
            let parts: Vec<_> = (0..450).map(|_| ("text/x-other", part.as_str())).collect();
            mail(&parts)
        }
    }
}

fn mail(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut raw = String::from(
        "From: Acme <no-reply@acme.com>\r\nTo: inbox@example.com\r\nSubject: Your sign-in code\r\n\
         Message-ID: <1@acme.com>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=\"b\"\r\n\r\n",
    );
    for (kind, body) in parts {
        raw.extend([
            "--b\r\nContent-Type: ",
            kind,
            "; charset=utf-8\r\n\r\n",
            body,
            "\r\n",
        ]);
    }
    raw.push_str("--b--\r\n");
    raw.into_bytes()
}
