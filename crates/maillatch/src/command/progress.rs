//! A progress bar for long work.

use std::io::{IsTerminal, Write};

const WIDTH: usize = 30;

/// Draws the bar on standard error, if that is a terminal.
pub(crate) fn show(done: usize, total: usize, what: &str) {
    let mut err = std::io::stderr().lock();
    if !err.is_terminal() {
        return;
    }
    let filled = (done * WIDTH)
        .checked_div(total)
        .unwrap_or(WIDTH)
        .min(WIDTH);
    let bar = format!("{}{}", "#".repeat(filled), ".".repeat(WIDTH - filled));
    let end = if done >= total { "\n" } else { "" };
    let _ = write!(err, "\r[{bar}] {done}/{total} {what}{end}");
}
