//! What is left of a process, or of a thread in it, that dies: where it died, and
//! nothing of what it was reading.
//!
//! A panic's message may quote what was at hand, and what a worker has at hand is
//! mail: the message of a string cut in mid-character, for one, holds the string. So
//! the place is told and the message is not. A core dump would hold everything, codes
//! and keys included, and is not made.

use std::panic::{self, PanicHookInfo};
use std::thread;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Where this is set, a panic says what it would say elsewhere: for whoever looks for
/// a fault with mail of their own.
const SPEAKING: &str = "MAILLATCH_PANIC_MESSAGES";

/// Sees to it for the whole process; to be called before anything else.
pub(crate) fn keep_to_ourselves() {
    if std::env::var_os(SPEAKING).is_none() {
        panic::set_hook(Box::new(tell));
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Where a sandbox forbids the call it has set the limit itself.
    let _ = setrlimit(Resource::Core, none);
}

fn tell(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let place = place.as_deref().unwrap_or("an unknown place");
    let thread = thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    if tracing::dispatcher::has_been_set() {
        tracing::error!(place, thread, "a thread panicked");
    } else {
        eprintln!("maillatch: the thread {thread} panicked at {place}");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const CHILD: &str = "MAILLATCH_TEST_OF_LAST_WORDS";

    /// What a process says that panics over a mail, and that says its limit of cores.
    fn said(speaking: bool) -> String {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "last_words::tests::dies", "--nocapture"]);
        child.env(CHILD, "1").env_remove(SPEAKING);
        if speaking {
            child.env(SPEAKING, "1");
        }
        let output = child.output().unwrap();
        assert!(output.status.success());
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8(said).unwrap()
    }

    /// Does so in a process of its own, and nothing in this one.
    #[test]
    fn dies() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        keep_to_ourselves();
        let mail = "Your canary is é".to_owned();
        let dying = thread::spawn(move || mail.split_at(mail.len() - 1).0.len());
        assert!(dying.join().is_err());
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let cores = limits.lines().find(|line| line.starts_with("Max core"));
        println!("{}", cores.unwrap_or_default());
    }

    #[test]
    fn a_panic_tells_its_place_and_nothing_of_the_mail() {
        let quiet = said(false);
        assert!(quiet.contains(" panicked at "), "{quiet}");
        assert!(quiet.contains("str/mod.rs:"), "{quiet}");
        assert!(!quiet.contains("canary"), "{quiet}");
        assert!(said(true).contains("canary"), "there is something to keep");
    }

    #[test]
    fn no_core_is_dumped() {
        let said = said(false);
        let line = said
            .lines()
            .find(|line| line.starts_with("Max core file size"));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        assert_eq!(words[4..6], ["0", "0"], "{said}");
    }
}
