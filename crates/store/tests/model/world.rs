//! The model: the expected state, in a few vectors. Attempts, mails and artifacts are
//! named by their index.

use std::collections::BTreeMap;

use super::command::{LIFETIME, Mail, Open, REPLAY};

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This attempt, new or known.
    Attempt(usize),
    /// The reference was used for another request.
    ReferenceReused,
    /// The value of this artifact.
    Value(usize),
    /// Another request consumed it, or the replay window is over.
    Already,
    /// The idempotency key was used for another request.
    KeyReused,
    /// There is nothing to consume; this is the attempt's state.
    NotReady(State),
    /// A newer artifact has replaced it.
    Superseded,
    /// It has expired.
    Expired,
    /// It never had a value.
    Withheld,
    /// The resend is granted, and this many are left.
    Granted(u32),
    /// The budget is spent.
    Spent,
    /// The attempt is over.
    Over,
    /// The attempt ended, with this success.
    Ended(bool),
}

/// The state of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    Ready,
    Consumed,
    Superseded,
    NoArtifact,
    NothingArrived,
    Expired,
}

/// A consume request: the numbers of its consumer and of its idempotency key.
pub(crate) type Request = (u8, u8);

#[derive(Debug)]
pub(crate) struct Attempt {
    asked: Open,
    opened_at: i64,
    deadline: i64,
    resends: BTreeMap<u8, u32>,
    resent_at: Option<i64>,
    pub(crate) current: Option<usize>,
    missed: Missed,
    success: Option<bool>,
}

/// The mail that gave an attempt nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missed {
    Nothing,
    /// A mail that matched and was given to another attempt.
    Anothers,
    /// A mail without a code.
    Mail,
}

impl Attempt {
    pub(crate) fn resends_left(&self) -> u32 {
        self.asked.resends - u32::try_from(self.resends.len()).unwrap()
    }

    /// Notes that a mail was given to another attempt.
    fn pass_over(&mut self) {
        if self.current.is_none() && self.missed == Missed::Nothing {
            self.missed = Missed::Anothers;
        }
    }

    /// Notes that a mail repeated the attempt's value: the resend before it is answered.
    fn answer_resend(&mut self, received_at: i64) {
        self.resent_at = self.resent_at.filter(|asked| *asked > received_at);
    }
}

#[derive(Debug)]
struct Sent {
    mail: Mail,
    at: i64,
    is_known: bool,
}

/// The one use of an artifact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Consume {
    request: Request,
    /// Whether the request named the attempt and not the item.
    of_attempt: bool,
    pub(crate) at: i64,
}

#[derive(Debug)]
pub(crate) struct Artifact {
    pub(crate) inbox: usize,
    pub(crate) code: Option<u8>,
    received_at: i64,
    pub(crate) attempt: Option<usize>,
    pub(crate) is_superseded: bool,
    pub(crate) consumed: Option<Consume>,
}

impl Artifact {
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        now >= self.received_at + LIFETIME
    }
}

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) now: i64,
    pub(crate) attempts: Vec<Attempt>,
    mails: Vec<Sent>,
    pub(crate) artifacts: Vec<Artifact>,
}

impl World {
    pub(crate) fn open(&mut self, asked: Open) -> Answer {
        let same = |attempt: &Attempt| attempt.asked.reference == asked.reference;
        if let Some(known) = asked.reference.and(self.attempts.iter().position(same)) {
            let is_same = self.attempts[known].asked.request == asked.request;
            return if is_same {
                Answer::Attempt(known)
            } else {
                Answer::ReferenceReused
            };
        }
        self.attempts.push(Attempt {
            asked,
            opened_at: self.now,
            deadline: self.now + asked.patience,
            resends: BTreeMap::new(),
            resent_at: None,
            current: None,
            missed: Missed::Nothing,
            success: None,
        });
        Answer::Attempt(self.attempts.len() - 1)
    }

    pub(crate) fn send(&mut self, mail: Mail) {
        self.mails.push(Sent {
            mail,
            at: self.now,
            is_known: false,
        });
    }

    /// The mail that a number means.
    pub(crate) fn mail(&self, number: usize) -> Option<(usize, Mail, i64)> {
        let index = number.checked_rem(self.mails.len())?;
        let sent = &self.mails[index];
        Some((index, sent.mail, sent.at))
    }

    /// Delivers a mail. Only its first delivery counts. A mail from before an attempt or
    /// after its deadline is not for it.
    pub(crate) fn deliver(&mut self, mail: usize) {
        let now = self.now;
        let sent = &mut self.mails[mail];
        if std::mem::replace(&mut sent.is_known, true) {
            return;
        }
        let Mail {
            inbox,
            code,
            is_stated,
        } = sent.mail;
        let received_at = if is_stated { sent.at } else { now };
        let waiting = self.waiting(inbox, received_at);
        let attempt = if code.is_some() {
            let chosen = self.chosen(&waiting, inbox, code);
            for attempt in waiting.into_iter().filter(|other| Some(*other) != chosen) {
                self.attempts[attempt].pass_over();
            }
            chosen
        } else {
            for attempt in waiting {
                self.attempts[attempt].missed = Missed::Mail;
            }
            None
        };
        if code.is_some() && self.has_since(attempt, inbox, code).is_some() {
            if let Some(attempt) = attempt {
                self.attempts[attempt].answer_resend(received_at);
                self.renew(attempt, code, received_at);
            }
            return;
        }
        self.artifacts.push(Artifact {
            inbox,
            code,
            received_at,
            attempt,
            is_superseded: false,
            consumed: None,
        });
        if let Some(attempt) = attempt {
            self.bind(attempt, self.artifacts.len() - 1);
        }
    }

    /// Gives an artifact to an attempt. The mail that was received last decides which
    /// artifact is current.
    fn bind(&mut self, attempt: usize, new: usize) {
        let current = self.attempts[attempt].current;
        let is_newer =
            |old: usize| self.artifacts[new].received_at >= self.artifacts[old].received_at;
        let older = match current {
            Some(old) if !is_newer(old) => Some(new),
            _ => {
                self.attempts[attempt].current = Some(new);
                current
            }
        };
        if let Some(older) = older {
            self.artifacts[older].is_superseded = true;
        }
    }

    /// Makes a repeated code the current one again, unless it is consumed or expired.
    fn renew(&mut self, attempt: usize, code: Option<u8>, received_at: i64) {
        let current = self.attempts[attempt].current;
        let is_late = |current: usize| self.artifacts[current].received_at > received_at;
        let of = |artifact: &Artifact| (artifact.attempt, artifact.code);
        let mut artifacts = self.artifacts.iter();
        let known = artifacts.position(|artifact| of(artifact) == (Some(attempt), code));
        let Some(known) = known.filter(|_| !current.is_some_and(is_late)) else {
            return;
        };
        let now = self.now;
        let artifact = &mut self.artifacts[known];
        if artifact.consumed.is_some() || artifact.is_expired(now) {
            return;
        }
        artifact.received_at = artifact.received_at.max(received_at);
        artifact.is_superseded = false;
        if let Some(older) = current.filter(|current| *current != known) {
            self.artifacts[older].is_superseded = true;
        }
        self.attempts[attempt].current = Some(known);
    }

    /// The attempts that waited when a mail was received.
    fn waiting(&self, inbox: usize, at: i64) -> Vec<usize> {
        let waits = |attempt: &Attempt| {
            attempt.asked.inbox == inbox
                && attempt.success.is_none()
                && (attempt.opened_at..attempt.deadline).contains(&at)
        };
        let indexed = self.attempts.iter().enumerate();
        let waiting = indexed.filter(|(_, attempt)| waits(attempt));
        waiting.map(|(index, _)| index).collect()
    }

    /// When an attempt got this code; without an attempt, when the inbox got it.
    fn has_since(&self, attempt: Option<usize>, inbox: usize, code: Option<u8>) -> Option<i64> {
        let is_it = |artifact: &&Artifact| {
            (artifact.attempt, artifact.inbox, artifact.code) == (attempt, inbox, code)
        };
        let artifact = self.artifacts.iter().find(is_it);
        artifact.map(|artifact| artifact.received_at)
    }

    /// The attempt that gets a code: one that has the code already, or else the first in
    /// line. An attempt that has the code does not get it again if the first in line has no
    /// artifact and was opened after that, and the other one has not requested a resend.
    fn chosen(&self, waiting: &[usize], inbox: usize, code: Option<u8>) -> Option<usize> {
        let first = self.first_in_line(waiting)?;
        let Attempt {
            current, opened_at, ..
        } = &self.attempts[first];
        let mut having: Vec<usize> = waiting.to_vec();
        having.retain(|index| {
            let since = self.has_since(Some(*index), inbox, code);
            let is_older = |since| current.is_none() && *opened_at > since;
            since.is_some_and(|since| !is_older(since) || self.asks_again(*index))
        });
        Some(self.first_in_line(&having).unwrap_or(first))
    }

    /// Whether a resend was requested after the current mail was received.
    fn asks_again(&self, attempt: usize) -> bool {
        let Attempt {
            resent_at, current, ..
        } = &self.attempts[attempt];
        let came_at = current.map(|current| self.artifacts[current].received_at);
        resent_at
            .zip(came_at)
            .is_some_and(|(asked, came)| asked > came)
    }

    /// The oldest attempt without an artifact; else the one that last asked for a mail.
    fn first_in_line(&self, waiting: &[usize]) -> Option<usize> {
        let of = |index: &usize| &self.attempts[*index];
        let empty = waiting.iter().filter(|index| of(index).current.is_none());
        let first = empty.min_by_key(|index| of(index).opened_at);
        let asked_at = |index: &&usize| of(index).opened_at.max(of(index).resent_at.unwrap_or(0));
        let last = waiting.iter().max_by_key(asked_at);
        first.or(last).copied()
    }

    pub(crate) fn resend(&mut self, attempt: usize, key: u8) -> Answer {
        let mut others = self.attempts.iter().enumerate();
        if others.any(|(index, other)| index != attempt && other.resends.contains_key(&key)) {
            return Answer::KeyReused;
        }
        let is_over = self.is_over(attempt);
        let now = self.now;
        let attempt = &mut self.attempts[attempt];
        if let Some(left) = attempt.resends.get(&key) {
            return Answer::Granted(*left);
        }
        if is_over || attempt.success.is_some() {
            return Answer::Over;
        }
        if attempt.resends_left() == 0 {
            return Answer::Spent;
        }
        let left = attempt.resends_left() - 1;
        attempt.resends.insert(key, left);
        attempt.resent_at = Some(now);
        Answer::Granted(left)
    }

    fn is_over(&self, attempt: usize) -> bool {
        self.now >= self.attempts[attempt].deadline
    }

    pub(crate) fn state(&self, attempt: usize) -> State {
        let is_over = self.is_over(attempt);
        let Attempt {
            current,
            missed,
            success,
            resent_at,
            ..
        } = &self.attempts[attempt];
        let Some(current) = current else {
            let can_come = !is_over && success.is_none();
            return match (missed, is_over) {
                (Missed::Mail, _) => State::NoArtifact,
                (Missed::Anothers, _) if !can_come => State::NoArtifact,
                (Missed::Nothing, true) => State::NothingArrived,
                (Missed::Nothing, false) if !can_come => State::Expired,
                _ => State::Pending,
            };
        };
        let current = &self.artifacts[*current];
        if let Some(consume) = current.consumed {
            let was_asked_again = resent_at.is_some_and(|resent| resent >= consume.at);
            let is_open = !is_over && success.is_none();
            return if was_asked_again && is_open {
                State::Pending
            } else {
                State::Consumed
            };
        }
        let is_of_it = |artifact: &&Artifact| artifact.attempt == Some(attempt);
        let mut others = self.artifacts.iter().filter(is_of_it);
        if is_over || success.is_some() || current.is_expired(self.now) {
            State::Expired
        } else if others.any(|artifact| artifact.consumed.is_some()) {
            State::Superseded
        } else {
            State::Ready
        }
    }

    /// Consumes the value of an attempt. A retry gets the artifact of its first request;
    /// any other request gets the current one.
    pub(crate) fn take(&mut self, attempt: usize, request: Request) -> Answer {
        if let Some(used) = self.used(request) {
            return if self.artifacts[used].attempt == Some(attempt) {
                self.replay(used, request, true)
            } else {
                Answer::KeyReused
            };
        }
        let state = self.state(attempt);
        match (state, self.attempts[attempt].current) {
            (State::Ready | State::Superseded, Some(current)) => {
                self.artifacts[current].consumed = Some(Consume {
                    request,
                    of_attempt: true,
                    at: self.now,
                });
                Answer::Value(current)
            }
            (State::Consumed, _) => Answer::Already,
            _ => Answer::NotReady(state),
        }
    }

    /// Consumes an item of the feed.
    pub(crate) fn consume(&mut self, artifact: usize, request: Request) -> Answer {
        let used = self.used(request);
        let now = self.now;
        let wanted = &mut self.artifacts[artifact];
        if wanted.code.is_none() {
            Answer::Withheld
        } else if wanted.consumed.is_some() {
            self.replay(artifact, request, false)
        } else if used.is_some() {
            Answer::KeyReused
        } else if wanted.is_superseded {
            Answer::Superseded
        } else if wanted.is_expired(now) {
            Answer::Expired
        } else {
            wanted.consumed = Some(Consume {
                request,
                of_attempt: false,
                at: now,
            });
            Answer::Value(artifact)
        }
    }

    /// The artifact that a request consumed.
    fn used(&self, request: Request) -> Option<usize> {
        let by = |artifact: &Artifact| artifact.consumed.map(|consume| consume.request);
        let is_used = |artifact: &Artifact| by(artifact) == Some(request);
        self.artifacts.iter().position(is_used)
    }

    /// The answer when the artifact is consumed: within the replay window, the same request
    /// gets the value again.
    fn replay(&self, artifact: usize, request: Request, of_attempt: bool) -> Answer {
        match self.artifacts[artifact].consumed {
            Some(consume) if consume.request == request => {
                if consume.of_attempt != of_attempt {
                    Answer::KeyReused
                } else if self.now < consume.at + REPLAY {
                    Answer::Value(artifact)
                } else {
                    Answer::Already
                }
            }
            _ => Answer::Already,
        }
    }

    pub(crate) fn finish(&mut self, attempt: usize, success: bool) -> Answer {
        Answer::Ended(*self.attempts[attempt].success.get_or_insert(success))
    }
}
