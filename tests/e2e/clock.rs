//! Another clock for a process under test.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Shifts the time of day by the seconds in `CLOCK_OFFSET`.
const SHIFT: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *at) {
    long failed = syscall(SYS_clock_gettime, id, at);
    const char *offset = getenv("CLOCK_OFFSET");
    if (!failed && id == CLOCK_REALTIME && offset) at->tv_sec += atol(offset);
    return (int) failed;
}
"#;

/// Gives a process a clock that is this many seconds ahead.
pub(crate) fn shift(command: &mut Command, seconds: i64) {
    command
        .env("LD_PRELOAD", library())
        .env("CLOCK_OFFSET", seconds.to_string());
}

/// The library, compiled once by the compiler that Rust links with.
fn library() -> &'static PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let name = format!("clock-{}", uuid::Uuid::now_v7().simple());
        let (source, library) = (
            directory.join(format!("{name}.c")),
            directory.join(format!("{name}.so")),
        );
        std::fs::write(&source, SHIFT).unwrap();
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source]);
        assert!(compiler.status().unwrap().success());
        library
    })
}
