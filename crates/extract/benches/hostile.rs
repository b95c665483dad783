//! Measures mails that are made to cost time.
//!
//! `cargo bench -p extract --bench hostile` prints each of them and the worst. The tests
//! check the answers.

use std::time::{Duration, Instant};

use extract::{Policy, extract};

#[expect(clippy::print_stdout, reason = "a benchmark reports to its caller")]
fn main() {
    let policy = Policy::default();
    // The lexicons are built on first use; do not count that.
    let _ = extract(b"From: a@b.example\r\n\r\nYour code is 482913", &policy);
    let mut worst = ("none", Duration::ZERO);
    for (name, raw) in mails() {
        let start = Instant::now();
        let answer = match extract(&raw, &policy) {
            Ok(_) => "read",
            Err(refusal) => refusal.reason(),
        };
        let taken = start.elapsed();
        println!(
            "{name:<44} {:>9} bytes  {:>8.1} ms  {answer}",
            raw.len(),
            taken.as_secs_f64() * 1e3
        );
        if taken > worst.1 {
            worst = (name, taken);
        }
    }
    println!(
        "\nworst: {} in {:.1} ms",
        worst.0,
        worst.1.as_secs_f64() * 1e3
    );
}

fn mails() -> Vec<(&'static str, Vec<u8>)> {
    let mut mails = nested();
    mails.extend(headers());
    mails.extend(bodies());
    mails.extend(markup().map(|(name, body)| (name, html(&body))));
    mails
}

fn nested() -> Vec<(&'static str, Vec<u8>)> {
    let multipart = |n: u32| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n");
    let same = "Content-Type: multipart/mixed; boundary=b\n\n--b\n";
    let parts = format!("{same}{}", "\nx\n--b\n".repeat(1_000_000));
    vec![
        (
            "40,000 nested messages",
            b"Content-Type:message/rfc822\n\n".repeat(40_000),
        ),
        ("50,000 nested multiparts", each(50_000, multipart).into()),
        ("a million parts", parts.into()),
        (
            "boundaries of twenty multiparts in every line",
            format!(
                "{}{}",
                each(19, multipart),
                "--b0x--b1x--b2x--b3x\n".repeat(400_000)
            )
            .into(),
        ),
    ]
}

fn headers() -> Vec<(&'static str, Vec<u8>)> {
    let text = |head: String| format!("From: a@b.example\r\n{head}\r\n\r\nx").into_bytes();
    let sections = each(40_000, |n| format!(" name*{n}=x;"));
    let words = "=?utf-8?q?x?= ".repeat(1_100);
    vec![
        ("a million headers", b"X: y\n".repeat(1_000_000)),
        (
            "a Message-ID of 100 KB",
            text(format!("Message-ID: <{}@b>", "a".repeat(100_000))),
        ),
        (
            "a charset of 1 MB",
            text(format!(
                "Content-Type: text/plain; charset=\"{}",
                "x".repeat(1_000_000)
            )),
        ),
        (
            "40,000 sections of a parameter",
            text(format!("Content-Type: text/plain;{sections}")),
        ),
        ("1,100 encoded words", text(format!("Subject: {words}"))),
        (
            "a To of 900 fields",
            text(format!("To: {}", "a@b.example, ".repeat(1_000))),
        ),
    ]
}

fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let plain = |body: String| format!("From: a@b.example\r\n\r\n{body}").into_bytes();
    vec![
        ("a thousand NULs", vec![0; 1_000]),
        (
            "fifty codes",
            plain(each(50, |n| {
                format!("Your code is {}\n", 100_003 + n * 7_919)
            })),
        ),
        (
            "a million codes",
            plain("Your code is 482913\n".repeat(500_000)),
        ),
        ("10 MB of one line", plain("word 482913 ".repeat(850_000))),
        ("10 MB of digits", plain("4".repeat(10_000_000))),
        ("10 MB of quotations", plain("> ".repeat(5_000_000))),
        ("10 MB of slashes", plain("https://".repeat(1_250_000))),
        (
            "10 MB of zero-width joiners",
            plain("\u{200d}".repeat(3_333_333)),
        ),
    ]
}

fn markup() -> impl Iterator<Item = (&'static str, String)> {
    let rule = |n: u32| format!("div div div .c{} {{display:none}}", n % 7);
    let style = format!("<style>{}</style>", each(20_000, rule));
    [
        ("4 MB of <", "<".repeat(4_000_000)),
        ("800,000 nested div", "<div>".repeat(800_000)),
        ("unclosed tags", "<a href=\"".repeat(400_000)),
        ("unclosed comments", "<!--".repeat(1_000_000)),
        ("end tags without a start", "</p>".repeat(1_000_000)),
        ("references", "&amp".repeat(1_000_000)),
        (
            "20,000 rules and 40,000 elements",
            format!("{style}{}", "<div class='c1 c2 c3'>".repeat(40_000)),
        ),
        ("100,000 nested tables", "<table><tr><td>".repeat(100_000)),
        (
            "80,000 links",
            "<a href=https://a.example/verify?t=1>x</a>".repeat(80_000),
        ),
        (
            "50,000 written links",
            "https://a.example/x ".repeat(50_000),
        ),
        (
            "attributes without end",
            format!("<p {}>", "a=b ".repeat(250_000)),
        ),
        ("a style without end", "<style>".repeat(200_000)),
    ]
    .into_iter()
}

fn each(count: u32, one: impl Fn(u32) -> String) -> String {
    (0..count).map(one).collect()
}

fn html(body: &str) -> Vec<u8> {
    format!("From: a@b.example\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{body}").into()
}
