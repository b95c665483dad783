//! What a process, or a thread of it, leaves behind when it panics: the place in the
//! code, and nothing of the mail that it was reading.
//!
//! A panic message may quote the data at hand, and a worker has mail at hand: the
//! message for a string that is cut inside a character, for example, contains the
//! string. So the hook logs the place and drops the message. A core dump would contain
//! everything, codes and keys included, so the process disables core dumps.

use std::panic::{self, PanicHookInfo};
use std::thread;

use rustix::process::{Resource, Rlimit, setrlimit};

/// With this variable set, panic messages are printed: for developers who look for a
/// bug with mail of their own.
const MESSAGES: &str = "MAILLATCH_PANIC_MESSAGES";

/// Installs the hook and disables core dumps for the whole process. Call it before
/// anything else.
pub(crate) fn install() {
    if std::env::var_os(MESSAGES).is_none() {
        panic::set_hook(Box::new(report));
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // A sandbox that forbids this call has set the limit itself.
    let _ = setrlimit(Resource::Core, none);
}

/// The exit code of a command whose reader is gone, as the shell reports `SIGPIPE`.
pub(crate) const CLOSED_PIPE: u8 = 141;

fn report(panic: &PanicHookInfo<'_>) {
    let is_server = tracing::dispatcher::has_been_set();
    let message = panic.payload_as_str().unwrap_or_default();
    // `eprintln!` panics when standard error is closed.
    if !is_server && message.starts_with("failed printing to") {
        std::process::exit(CLOSED_PIPE.into());
    }
    let place = panic.location().map(ToString::to_string);
    let place = place.as_deref().unwrap_or("an unknown place");
    let thread = thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    if is_server {
        tracing::error!(place, thread, "a thread panicked");
    } else {
        eprintln!("maillatch: the thread {thread} panicked at {place}");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const CHILD: &str = "MAILLATCH_TEST_OF_PANIC_HOOK";

    /// The output of a child process that panics over a mail and then prints its limit
    /// for core dumps.
    fn output_of_child(with_messages: bool) -> String {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "panic_hook::tests::panic_in_a_child",
            "--nocapture",
        ]);
        child.env(CHILD, "1").env_remove(MESSAGES);
        if with_messages {
            child.env(MESSAGES, "1");
        }
        let output = child.output().unwrap();
        assert!(output.status.success());
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }

    /// The child's part; as an ordinary test it does nothing.
    #[test]
    fn panic_in_a_child() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        install();
        let mail = "Your canary is é".to_owned();
        let panicking = thread::spawn(move || mail.split_at(mail.len() - 1).0.len());
        assert!(panicking.join().is_err());
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let cores = limits.lines().find(|line| line.starts_with("Max core"));
        println!("{}", cores.unwrap_or_default());
    }

    #[test]
    fn a_panic_reports_its_place_and_not_its_message() {
        let without_messages = output_of_child(false);
        assert!(
            without_messages.contains(" panicked at "),
            "{without_messages}"
        );
        assert!(
            without_messages.contains("str/mod.rs:"),
            "{without_messages}"
        );
        assert!(!without_messages.contains("canary"), "{without_messages}");
        // The message itself quotes the mail, so the hook has something to hide.
        let with_messages = output_of_child(true);
        assert!(with_messages.contains("canary"), "{with_messages}");
    }

    #[test]
    fn core_dumps_are_disabled() {
        let output = output_of_child(false);
        let line = output
            .lines()
            .find(|line| line.starts_with("Max core file size"));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        assert_eq!(words[4..6], ["0", "0"], "{output}");
    }
}
