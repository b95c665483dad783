//! Searches for mails that cost the most steps or memory.
//!
//! The search here is small. `examples/search.rs` runs it for as long as you like and
//! measures time as well.
#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a generator that fails fails its test"
)]

mod generator;

use std::sync::Mutex;

use extract::{Refusal, Steps, read_within};
use generator::{Random, Recipe};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The peak is that of the process, so one test measures at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Cost {
    steps: u64,
    memory: usize,
    answer: Result<(), Refusal>,
}

fn cost(raw: &[u8]) -> Cost {
    let steps = Steps::for_size(raw.len());
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let answer = read_within(raw, &steps).map(|_| ());
    Cost {
        steps: steps.taken(),
        memory: ALLOCATOR.peak_usage().saturating_sub(before),
        answer,
    }
}

fn most_memory(size: usize) -> usize {
    8 * size + (16 << 20)
}

fn html(body: &str) -> Vec<u8> {
    format!("From: a@b.example\nContent-Type: text/html\n\n{body}").into_bytes()
}

/// Keeps the most expensive mails and mutates them.
#[test]
fn searched_mails_stay_within_the_memory_bound_and_answer_deterministically() {
    let _guard = ONE_AT_A_TIME.lock();
    cost(b"From: a@b.example\n\nYour code is 482913");
    let mut random = Random::new(7);
    let mut best: Vec<(u64, Recipe)> = Vec::new();
    for round in 0..150 {
        let recipe = match best.len() {
            0..8 => Recipe::random(&mut random, 24 * 1024),
            _ if round % 8 == 0 => Recipe::random(&mut random, 96 * 1024),
            count => best[random.below(count)].1.mutated(&mut random),
        };
        let mail = recipe.mail();
        let first = cost(&mail);
        let bound = most_memory(mail.len());
        assert!(first.memory <= bound, "{} bytes: {recipe:?}", first.memory);
        if round % 16 == 0 {
            let again = cost(&mail);
            assert_eq!((again.steps, again.answer), (first.steps, first.answer));
        }
        best.push((
            first.steps / u64::try_from(mail.len() + 1).unwrap_or(1),
            recipe,
        ));
        best.sort_by_key(|(steps, _)| std::cmp::Reverse(*steps));
        best.truncate(12);
    }
}

/// The mails of the report: each took seconds or hundreds of megabytes.
#[test]
fn reported_mails_take_few_steps_and_little_memory() {
    let _guard = ONE_AT_A_TIME.lock();
    cost(b"From: a@b.example\n\nYour code is 482913");
    let brackets = format!(
        "From: a@b.example\n\nVerify https://example.com/{}",
        ")".repeat(64_000)
    );
    let title = "x".repeat(20_000);
    let attributes = html(&format!(
        "<style>{}</style><i title='{title}'>{}",
        "[title*=xy] b{display:none}".repeat(200),
        "<b>x</b>".repeat(400)
    ));
    let classes = html(&format!(
        "<style>{}</style>{}",
        ".a .b{display:none}.a{color:red}".repeat(40),
        format!("<p class='{}'>x", "a ".repeat(32)).repeat(9_000)
    ));
    let selectors = (0..400).map(|n| format!(".c{n}")).collect::<Vec<_>>();
    let shared = html(&format!(
        "<style>{}{{{}}}</style>x",
        selectors.join(","),
        "color:#000;opacity:.9;".repeat(45_000)
    ));
    for (name, raw) in [
        ("brackets", brackets.into_bytes()),
        ("attributes", attributes),
        ("classes", classes),
        ("shared declarations", shared),
    ] {
        let cost = cost(&raw);
        println!(
            "{name}: {} bytes, {} steps, {} bytes of memory",
            raw.len(),
            cost.steps,
            cost.memory
        );
        assert!(
            cost.memory <= most_memory(raw.len()),
            "{name}: {}",
            cost.memory
        );
        // Linear work: at most the steps of any mail of that size, and not cut short.
        assert_eq!(cost.answer, Ok(()), "{name}");
    }
}

/// Mails with a term at every word or every byte, in HTML and in both bodies.
#[test]
fn mails_that_are_all_terms_take_little_memory() {
    let _guard = ONE_AT_A_TIME.lock();
    cost(b"From: a@b.example\n\nYour code is 482913");
    let both = |word: &str| {
        let text = word.repeat((256 << 10) / word.len() + 1);
        let part = |kind: &str| format!("--b\nContent-Type: text/{kind}\n\n{text}\n");
        let (plain, html) = (part("plain"), part("html"));
        let kind = "multipart/alternative; boundary=b";
        format!("From: a@b.example\nContent-Type: {kind}\n\n{plain}{html}--b--\n").into_bytes()
    };
    for (name, raw) in [
        ("words of one letter in HTML", html(&"a ".repeat(131_500))),
        ("words of one letter in both bodies", both("a ")),
        ("signs of money in both bodies", both("$")),
        ("digits in both bodies", both("1 ")),
        ("ideographs in both bodies", both("码")),
        ("terms of many languages", both("pin otp sms token ")),
        ("terms of many concepts", both("para bil tan kun 4821 ")),
    ] {
        let cost = cost(&raw);
        let bound = most_memory(raw.len());
        println!("{name}: {} of {bound} bytes", cost.memory);
        assert!(cost.memory <= bound, "{name}: {} of {bound}", cost.memory);
    }
}

/// Behind each encoded word that does not end, a parser looks at the rest of the field.
#[test]
fn fields_full_of_encoded_words_are_charged_for_each_of_them() {
    let _guard = ONE_AT_A_TIME.lock();
    let words = |count: usize| format!("{}{}", "=?11?q? ".repeat(count), "x".repeat(12_000));
    let part = |words: &str| format!("--b\nContent-Type: {words}\n\nx\n");
    let parts = |count: usize, words: &str| {
        let kind = "multipart/mixed; boundary=b";
        let parts = part(words).repeat(count);
        format!("From: a@b.example\nContent-Type: {kind}\n\n{parts}--b--\n").into_bytes()
    };
    let none = cost(&parts(400, &words(0)));
    assert_eq!(none.answer, Ok(()), "long types are no cost by themselves");
    let many = cost(&parts(400, &words(20)));
    assert_eq!(many.answer, Err(Refusal::TooCostly));
    // Ten million steps and 27 for each byte are enough for a few.
    let few = parts(20, &words(20));
    let each = u64::try_from(20 * 12_000 * 20).unwrap_or(u64::MAX);
    let found = cost(&few);
    assert_eq!(found.answer, Ok(()));
    assert!(found.steps > each, "{} of {each}", found.steps);
    for name in ["Subject", "To", "Reply-To"] {
        let steps = |count: usize| {
            let mail = format!("From: a@b.example\n{name}: {}\n\nx", words(count));
            cost(mail.as_bytes()).steps
        };
        let more = steps(200).saturating_sub(steps(0));
        assert!(more > 200 * 12_000, "{name}: {more}");
    }
}

/// A large mail that is read within the budget of a small one.
#[test]
fn mail_beyond_its_steps_is_too_costly() {
    let _guard = ONE_AT_A_TIME.lock();
    let report = "This line is a part of a long report.\n".repeat(60_000);
    let raw = format!("From: a@b.example\n\n{report}").into_bytes();
    let steps = Steps::for_size(0);
    let answer = read_within(&raw, &steps).map(|_| ());
    assert_eq!(answer, Err(Refusal::TooCostly));
    assert_eq!(Refusal::TooCostly.reason(), "too_costly");
    // The same mail is within its own budget.
    assert_eq!(cost(&raw).answer, Ok(()));
}
