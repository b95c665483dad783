//! The commands of a case. A command names an attempt, a mail or an item by a small
//! number, modulo how many there are; if there is none, the command does nothing.

use proptest::prelude::*;

/// One command.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// An agent opens an attempt.
    Open(Open),
    /// A sender sends a mail. It is not delivered yet.
    Send(Mail),
    /// A mail is delivered, for the first time or again.
    Deliver {
        mail: usize,
        /// Which of the provider's ids it has: the same id again is a retry.
        copy: u8,
        /// Whether another delivery of the same mail arrives at the same time.
        twice: bool,
    },
    /// An agent requests a resend.
    Resend { attempt: usize, key: u8 },
    /// A consumer consumes the value of an attempt.
    Take {
        attempt: usize,
        consumer: u8,
        key: u8,
    },
    /// Several consumers do so at once, each with a key of its own.
    Race { attempt: usize },
    /// A consumer consumes an item of the feed.
    Consume {
        artifact: usize,
        consumer: u8,
        key: u8,
    },
    /// An agent finishes an attempt.
    Finish { attempt: usize, success: bool },
    /// Time passes, in milliseconds.
    Pass(i64),
    /// The values that cannot be consumed or replayed any more are wiped.
    Wipe,
    /// The process dies this many microseconds after it began this command. After its
    /// restart the client repeats the request.
    Crash(Box<Command>, u16),
}

/// The request that opens an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) inbox: usize,
    /// The number of the opener's reference, if there is one.
    pub(crate) reference: Option<u8>,
    /// Stands for the content of the request, which must be the same for a reference.
    pub(crate) request: u8,
    pub(crate) patience: i64,
    pub(crate) resends: u32,
}

/// A mail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mail {
    pub(crate) inbox: usize,
    /// Which code is in it, if any.
    pub(crate) code: Option<u8>,
    /// Whether the provider states when it received the mail.
    pub(crate) is_stated: bool,
}

/// How long a code may be consumed.
pub(crate) const LIFETIME: i64 = 120_000;
/// How long a retry gets the same answer.
pub(crate) const REPLAY: i64 = 30_000;
/// How many inboxes, codes, consumers and keys there are.
pub(crate) const INBOXES: usize = 2;
const CODES: u8 = 3;
pub(crate) const CONSUMERS: u8 = 3;
const KEYS: u8 = 3;

/// Any command. Commands that find more faults are more frequent.
pub(crate) fn any() -> impl Strategy<Value = Command> {
    prop_oneof![
        12 => plain(),
        1 => crash(),
    ]
}

fn plain() -> impl Strategy<Value = Command> {
    prop_oneof![
        2 => open(prop::option::of(0..2_u8)),
        5 => (inbox(), prop::option::weighted(0.85, 0..CODES), prop::bool::weighted(0.7))
            .prop_map(|(inbox, code, is_stated)| Command::Send(Mail { inbox, code, is_stated })),
        8 => deliver(),
        1 => resend(),
        5 => take(),
        1 => (0..4_usize).prop_map(|attempt| Command::Race { attempt }),
        3 => (0..6_usize, 0..CONSUMERS, 0..KEYS)
            .prop_map(|(artifact, consumer, key)| Command::Consume { artifact, consumer, key }),
        1 => finish(),
        2 => prop::sample::select(vec![1, 1, 1, 999, REPLAY - 1, REPLAY, 60_000, LIFETIME])
            .prop_map(Command::Pass),
        1 => Just(Command::Wipe),
    ]
}

fn crash() -> impl Strategy<Value = Command> {
    // After a crash only a request with a reference can be repeated as the same one.
    let command = prop_oneof![
        open((0..2_u8).prop_map(Some)),
        deliver(),
        resend(),
        take(),
        (0..4_usize).prop_map(|attempt| Command::Race { attempt }),
        finish(),
    ];
    (command, 0..4000_u16).prop_map(|(command, after)| Command::Crash(Box::new(command), after))
}

fn open(reference: impl Strategy<Value = Option<u8>>) -> impl Strategy<Value = Command> {
    let patience = prop::sample::select(vec![1_000, 60_000, 600_000, 600_000]);
    (inbox(), reference, 0..2_u8, patience, 0..3_u32).prop_map(
        |(inbox, reference, request, patience, resends)| {
            Command::Open(Open {
                inbox,
                reference,
                request,
                patience,
                resends,
            })
        },
    )
}

/// Most commands are about the same inbox.
fn inbox() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![0, 0, 0, 0, 1])
}

fn deliver() -> impl Strategy<Value = Command> {
    (0..6_usize, 0..2_u8, prop::bool::weighted(0.2))
        .prop_map(|(mail, copy, twice)| Command::Deliver { mail, copy, twice })
}

fn resend() -> impl Strategy<Value = Command> {
    (0..4_usize, 0..KEYS).prop_map(|(attempt, key)| Command::Resend { attempt, key })
}

fn take() -> impl Strategy<Value = Command> {
    (0..4_usize, 0..CONSUMERS, 0..KEYS).prop_map(|(attempt, consumer, key)| Command::Take {
        attempt,
        consumer,
        key,
    })
}

fn finish() -> impl Strategy<Value = Command> {
    (0..4_usize, prop::bool::ANY)
        .prop_map(|(attempt, success)| Command::Finish { attempt, success })
}
