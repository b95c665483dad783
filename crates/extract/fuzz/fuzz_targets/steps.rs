//! Any bytes, repeated to a large mail: reading stays within its step budget, gives the
//! same answer at the same step, and every loop charges what it touches.
#![no_main]

use std::time::{Duration, Instant};

use extract::{Refusal, Steps, read_within};
use libfuzzer_sys::fuzz_target;

const SIZE: usize = 64 * 1024;
/// A step takes about a nanosecond. With coverage counters and checks it takes longer; a
/// loop that charges nothing takes far longer.
const PER_STEP: Duration = Duration::from_nanos(100);
const BASE: Duration = Duration::from_millis(500);

fuzz_target!(|piece: &[u8]| {
    let mail = piece.repeat(SIZE / (piece.len() + 1) + 1);
    let (first, second) = (Steps::for_size(mail.len()), Steps::for_size(mail.len()));
    let began = Instant::now();
    let answer = read_within(&mail, &first).map(|_| ());
    let taken = began.elapsed();
    assert!(first.taken() <= first.limit());
    if answer == Err(Refusal::TooCostly) {
        assert_eq!(first.taken(), first.limit());
    }
    let steps = u32::try_from(first.taken()).unwrap_or(u32::MAX);
    assert!(taken <= BASE + PER_STEP * steps, "{taken:?} for {steps} steps");
    assert_eq!(read_within(&mail, &second).map(|_| ()), answer);
    assert_eq!(first.taken(), second.taken());
});
