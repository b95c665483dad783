//! Any bytes, repeated to a large mail: reading needs at most 8 times its size and 16 MiB.
#![no_main]

use extract::{Steps, read_within};
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const SIZE: usize = 256 * 1024;

fuzz_target!(|piece: &[u8]| {
    let mail = piece.repeat(SIZE / (piece.len() + 1) + 1);
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let _ = read_within(&mail, &Steps::for_size(mail.len()));
    let needed = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(needed <= 8 * mail.len() + (16 << 20), "{needed} bytes");
});
