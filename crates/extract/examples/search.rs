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

impl Cost {
    fn nanoseconds_a_step(&self) -> f64 {
        self.taken.as_secs_f64() * 1e9 / self.steps
    }

    /// How promising the mail is to start from. In a small mail other things than its
    /// steps take the time.
    fn rank(&self) -> f64 {
        let is_long = self.taken > Duration::from_millis(2);
        let a_step = self.nanoseconds_a_step() / 4.0;
        self.time
            .max(self.memory)
            .max(if is_long { a_step } else { 0.0 })
    }
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

/// How fast the processor's core is now. On a machine that shares its cores with others a
/// core is at half of its speed for seconds at a time, whatever it reads.
struct Core {
    /// The least time that the same work has taken.
    fastest: Duration,
}

impl Core {
    /// How often the core is asked whether it is at full speed again before a mail is
    /// measured anyway: about a minute.
    const QUESTIONS: u32 = 600;

    fn new() -> Self {
        let mut core = Self {
            fastest: Duration::MAX,
        };
        for _ in 0..50 {
            let _ = core.is_at_full_speed();
        }
        core
    }

    /// Does a fixed piece of work, which no mail of the search has a part in.
    fn is_at_full_speed(&mut self) -> bool {
        const MAIL: &str = "From: a@b.example\nContent-Type: text/html\n\n\
            <p>Your code is <b>482913</b>. <a href=https://a.example/verify?token=Zk3v9QmB7tY1>Verify</a>";
        // The first ones after a pause find cold caches.
        let taken = (0..8).map(|_| {
            let start = Instant::now();
            for _ in 0..10 {
                let _ = std::hint::black_box(extract::read(MAIL.as_bytes()));
            }
            start.elapsed()
        });
        let taken = taken.min().unwrap_or_default();
        self.fastest = self.fastest.min(taken);
        taken.as_secs_f64() < self.fastest.as_secs_f64() * 1.3
    }

    fn wait_for_full_speed(&mut self) {
        for _ in 0..Self::QUESTIONS {
            if self.is_at_full_speed() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        println!("the core was not at full speed for a minute; measured anyway");
    }

    /// What reading one mail costs. One that ranks above `rank` is measured five times more
    /// while the core is at full speed, and the least counts.
    fn least_cost(&mut self, mail: &[u8], rank: f64) -> Cost {
        let mut least = cost(mail);
        for _ in 0..5 {
            if least.rank() > rank {
                self.wait_for_full_speed();
                let again = cost(mail);
                least.taken = least.taken.min(again.taken);
                least.time = least.time.min(again.time);
            }
        }
        least
    }
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
        let a_step = cost.nanoseconds_a_step();
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
    let mut core = Core::new();
    let (mut mails, mut costly) = (0_u64, 0_u64);
    while began.elapsed() < Duration::from_secs(seconds) {
        let size = 2_000 << random.below(13);
        let recipe = match best.len() {
            count @ 24.. if random.below(6) > 0 => best[random.below(count)].1.mutated(&mut random),
            _ => Recipe::random(&mut random, size.min(10 << 20)),
        };
        let mail = recipe.mail();
        let rank = if best.len() < 32 { 0.0 } else { best[31].0 };
        let measured = core.least_cost(&mail, rank);
        worst.judge(&mail, &measured, &recipe);
        mails += 1;
        costly += u64::from(measured.is_too_costly);
        best.push((measured.rank(), recipe));
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
