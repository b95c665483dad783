//! Attempts, mail and consumes against a plain model in memory.
//!
//! A case is a random list of commands: attempts are opened; mail is sent, and delivered
//! in any order and any number of times; resends are requested; values are consumed, also
//! by several consumers at once, and again by retries; time passes; and the process dies
//! in the middle of any command. After each command the database must have given the same
//! answer as the model, [`world::World`]: a few vectors and no SQL.
//!
//! The database uses the model's clock, so that no test waits and every time limit is
//! tested to the millisecond. The cases are the same in every run. To run more of them:
//!
//! ```text
//! MODEL_CASES=10000 cargo test -p store model
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a model that cannot go on fails"
)]

mod command;
mod play;
pub(crate) mod process;
mod world;

use std::cell::RefCell;

use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use play::Player;
use process::Process;

/// How many cases each database plays, unless `MODEL_CASES` says otherwise.
const CASES: u32 = 256;

#[test]
fn sqlite_answers_random_commands_as_the_model_does() {
    play(Process::on_sqlite());
}

#[test]
fn postgres_answers_random_commands_as_the_model_does() {
    play(Process::on_postgres());
}

fn play(process: Process) {
    let cases = std::env::var("MODEL_CASES").map(|cases| cases.parse().unwrap());
    let config = Config {
        cases: cases.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 300,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let player = RefCell::new(Player::new(process));
    let outcome = TestRunner::new_with_rng(config, rng)
        .run(&vec(command::any(), 8..28), |commands| {
            player.borrow_mut().play(&commands)
        });
    let player = player.into_inner();
    player.end();
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
