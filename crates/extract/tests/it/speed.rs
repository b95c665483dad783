//! Mails that are made to cost time. A quadratic step would need minutes here.

use extract::{Flag, Policy, Refusal, extract};

use crate::html_mail;

#[test]
fn hostile_markup_is_read_in_linear_time() {
    let rule = |n: u32| format!("div div div .c{} {{display:none}}", n % 7);
    let rules = (0..20_000).map(rule).collect::<Vec<_>>().concat();
    let style = format!("<style>{rules}</style>");
    for body in [
        "<".repeat(4_000_000),
        "<div>".repeat(800_000),
        "<a href=\"".repeat(200_000),
        "<!--".repeat(500_000),
        "</p>".repeat(500_000),
        "&amp".repeat(500_000),
        format!("{style}{}", "<div class='c1 c2 c3'>".repeat(40_000)),
        "<table><tr><td>".repeat(100_000),
        "<p>Your code is 123456</p>".repeat(40_000),
        "https://a.example/x ".repeat(50_000),
    ] {
        // The test is that this ends: in quadratic time each would take minutes.
        let is_longer_than_read = body.len() > 1024 * 1024;
        match extract(&html_mail(&body), &Policy::default()) {
            Ok(mail) => assert!(!is_longer_than_read || mail.flags.contains(&Flag::Truncated)),
            Err(refusal) => assert_eq!(refusal, Refusal::TooCostly),
        }
    }
}
