//! Searches for the mail that costs the most time, and prints each new worst one.
//!
//! `cargo run --release -p extract --example search -- SECONDS [SEED]`. The bar is 60 ns
//! for each byte plus 20 ms, or an early `too_costly`.
#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a tool for developers, which reports to its caller"
)]

#[path = "../tests/cost/generator.rs"]
mod generator;

use std::time::{Duration, Instant};

use extract::{Steps, read_within};
use generator::{Random, Recipe};

/// The processor time of this process, or the clock where the system has none.
fn now(began: Instant) -> Duration {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = schedule
        .split_whitespace()
        .next()
        .and_then(|n| n.parse().ok());
    nanoseconds.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok());
    let seconds: u64 = arguments.next().unwrap_or(60);
    let mut random = Random::new(arguments.next().unwrap_or(1));
    let began = Instant::now();
    // The lexicons are built on first use; do not count that.
    let warm_up = b"From: a@b.example\n\nYour code is 482913 https://a.example//b.example/verify";
    let _ = extract::read(warm_up);
    let mut best: Vec<(f64, Recipe)> = Vec::new();
    let (mut mails, mut worst, mut costly, mut slowest_step) = (0_u64, 0.0_f64, 0_u64, 0.0_f64);
    while began.elapsed() < Duration::from_secs(seconds) {
        let size = 2_000 << random.below(13);
        let recipe = match best.len() {
            count @ 24.. if random.below(6) > 0 => best[random.below(count)].1.mutated(&mut random),
            _ => Recipe::random(&mut random, size.min(10 << 20)),
        };
        let mail = recipe.mail();
        let steps = Steps::for_size(mail.len());
        let start = now(began);
        let answer = read_within(&mail, &steps);
        let taken = now(began).saturating_sub(start);
        let bytes = f64::from(u32::try_from(mail.len()).unwrap_or(u32::MAX));
        let share = taken.as_secs_f64() / (bytes * 60e-9 + 20e-3);
        let nanoseconds = taken.as_secs_f64() * 1e9;
        let a_step = nanoseconds / f64::from(u32::try_from(steps.taken()).unwrap_or(u32::MAX));
        mails += 1;
        costly += u64::from(answer.is_err_and(|refusal| refusal.reason() == "too_costly"));
        if nanoseconds > 2e6 && a_step > slowest_step {
            slowest_step = a_step;
            println!("{a_step:.2} ns a step in {} bytes: {recipe:?}", mail.len());
        }
        if share > worst {
            worst = share;
            println!(
                "{:.0} % of the bar, {} bytes, {taken:?}: {recipe:?}",
                share * 100.0,
                mail.len()
            );
        }
        best.push((share.max(a_step / 4.0), recipe));
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(32);
    }
    println!(
        "{mails} mails, {costly} too costly, worst {:.0} % of the bar, {slowest_step:.2} ns a step",
        worst * 100.0
    );
}
