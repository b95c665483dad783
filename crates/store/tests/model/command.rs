//! What can happen. Things are named by small numbers, which are taken modulo how
//! many there are; a command about something that is not there does nothing.

use proptest::prelude::*;

/// One thing that happens.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// An agent opens an attempt.
    Open(Open),
    /// Somebody sends a mail; it is on its way from now on.
    Send(Mail),
    /// A mail that is on its way, or has come already, is delivered.
    Deliver {
        mail: usize,
        /// Under which of the provider's ids: the same one again is a retry.
        copy: u8,
        /// Whether another delivery of the same mail comes at the same time.
        twice: bool,
    },
    /// An agent asks for another mail.
    Resend { attempt: usize, key: u8 },
    /// A consumer asks an attempt for its value.
    Take {
        attempt: usize,
        consumer: u8,
        key: u8,
    },
    /// Several ask at once, each with a key of its own.
    Race { attempt: usize },
    /// A consumer asks for an item of the feed.
    Consume {
        artifact: usize,
        consumer: u8,
        key: u8,
    },
    /// An agent says how it ended.
    Finish { attempt: usize, success: bool },
    /// Time passes, in milliseconds.
    Pass(i64),
    /// Values that nobody may ask for any more are wiped.
    Wipe,
    /// The process dies so many microseconds after it began to do this; after
    /// its restart whoever asked asks again.
    Crash(Box<Command>, u16),
}

/// What an attempt is opened with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) inbox: usize,
    /// The opener's own word.
    pub(crate) reference: Option<u8>,
    /// What is asked for, as far as a reference compares it.
    pub(crate) request: u8,
    pub(crate) patience: i64,
    pub(crate) resends: u32,
}

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mail {
    pub(crate) inbox: usize,
    /// Which code is in it, if any.
    pub(crate) code: Option<u8>,
    /// Whether the provider says when it received it.
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

/// Any command, each as often as it is interesting.
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
    // Whoever wants to ask again after a crash has to say that it is the same.
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

/// Most of what happens happens in one place.
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
