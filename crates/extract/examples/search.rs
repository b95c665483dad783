//! Searches for the mail that costs the most time or memory, and prints each new worst
//! one.
//!
//! `cargo run --release -p extract --example search -- SECONDS [SEED]`. The bar for time
//! is 60 ns for each byte plus 20 ms of a processor, also for `too_costly`. The bar for
//! memory is eight times the size plus 16 MiB. The search fails when a mail is beyond a bar.
#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a tool for developers, which reports to its caller"
)]

#[path = "../tests/cost/generator.rs"]
mod generator;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use extract::{Steps, read_within};
use generator::{Random, Recipe};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What reading one mail costs.
struct Cost {
    taken: Duration,
    steps: f64,
    is_too_costly: bool,
    /// Shares of the bars.
    time: f64,
    memory: f64,
}

fn float(number: impl TryInto<u32>) -> f64 {
    f64::from(number.try_into().unwrap_or(u32::MAX))
}

/// The time that this thread has run on a processor, which other work on the machine does
/// not prolong. Linux brings the figure up to date when a thread yields.
fn processor_time() -> Option<Duration> {
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_ascii_whitespace().next()?;
    nanoseconds.parse().ok().map(Duration::from_nanos)
}

fn cost(mail: &[u8]) -> Cost {
    let steps = Steps::for_size(mail.len());
    let (start, ran) = (Instant::now(), processor_time());
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let answer = read_within(mail, &steps);
    let peak = ALLOCATOR.peak_usage().saturating_sub(before);
    let ran = ran.and_then(|ran| processor_time()?.checked_sub(ran));
    let taken = ran.unwrap_or_else(|| start.elapsed());
    Cost {
        taken,
        steps: float(steps.taken()),
        is_too_costly: answer.is_err_and(|refusal| refusal.reason() == "too_costly"),
        time: taken.as_secs_f64() / (float(mail.len()) * 60e-9 + 20e-3),
        memory: float(peak) / float(8 * mail.len() + (16 << 20)),
    }
}

/// What reading one mail costs. One that may be the worst is measured five times, and the
/// least counts: a machine that does other work, too, is slow now and then.
fn least_cost(mail: &[u8], worst_so_far: f64) -> Cost {
    let mut least = cost(mail);
    for _ in 0..4 {
        if least.time > worst_so_far.max(0.5) {
            let again = cost(mail);
            least.taken = least.taken.min(again.taken);
            least.time = least.time.min(again.time);
        }
    }
    least
}

/// The worst of all mails so far.
#[derive(Default)]
struct Worst {
    time: f64,
    memory: f64,
    a_step: f64,
    a_byte: f64,
}

impl Worst {
    /// Compares a mail with the worst so far and prints what is worse.
    fn judge(&mut self, mail: &[u8], cost: &Cost, recipe: &Recipe) {
        let nanoseconds = cost.taken.as_secs_f64() * 1e9;
        let a_step = nanoseconds / cost.steps;
        let bytes = mail.len();
        if nanoseconds > 2e6 && a_step.is_finite() && a_step > self.a_step {
            self.a_step = a_step;
            println!("{a_step:.2} ns a step in {bytes} bytes: {recipe:?}");
        }
        // The steps that every mail may take would dominate in a small one.
        if bytes > 1 << 20 {
            self.a_byte = self.a_byte.max(cost.steps / float(bytes));
        }
        // A mail that ends as too costly must do so in time, too.
        if cost.time > self.time {
            self.time = cost.time;
            let (share, taken) = (cost.time * 100.0, cost.taken);
            let end = if cost.is_too_costly {
                "refused"
            } else {
                "read"
            };
            println!("{share:.0} % of the time, {bytes} bytes, {end} in {taken:?}: {recipe:?}");
        }
        if cost.memory > self.memory {
            self.memory = cost.memory;
            let share = cost.memory * 100.0;
            println!("{share:.0} % of the memory, {bytes} bytes: {recipe:?}");
        }
    }
}

fn main() -> ExitCode {
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
    let mut worst = Worst::default();
    let (mut mails, mut costly) = (0_u64, 0_u64);
    while began.elapsed() < Duration::from_secs(seconds) {
        let size = 2_000 << random.below(13);
        let recipe = match best.len() {
            count @ 24.. if random.below(6) > 0 => best[random.below(count)].1.mutated(&mut random),
            _ => Recipe::random(&mut random, size.min(10 << 20)),
        };
        let mail = recipe.mail();
        let measured = least_cost(&mail, worst.time);
        worst.judge(&mail, &measured, &recipe);
        mails += 1;
        costly += u64::from(measured.is_too_costly);
        let a_step = measured.taken.as_secs_f64() * 1e9 / measured.steps;
        // In a small mail other things than its steps take the time.
        let is_long = measured.taken > Duration::from_millis(2);
        let rank = measured.time.max(measured.memory);
        let rank = rank.max(if is_long { a_step / 4.0 } else { 0.0 });
        best.push((rank, recipe));
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(32);
    }
    let Worst {
        time,
        memory,
        a_step,
        a_byte,
    } = worst;
    println!(
        "{mails} mails, {costly} too costly, worst {:.0} % of the time and {:.0} % of the memory, \
         {a_step:.2} ns a step, {a_byte:.1} steps a byte",
        time * 100.0,
        memory * 100.0
    );
    if time > 1.0 || memory > 1.0 {
        println!("a mail is beyond a bar");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
