//! Plays commands to the database and to the model, and compares.

use std::time::Duration;

use futures_util::future::try_join_all;
use pipeline::{
    ArtifactId, ArtifactKind, ArtifactView, AttemptConsume, AttemptConsumed, AttemptFinished,
    AttemptId, AttemptOutcome, AttemptStatus, AttemptView, Claimed, Completed, ConsumeRequest,
    Consumed, InboxId, Miss, MissKind, NewArtifact, NewAttempt, NewMessage, Opened, Reason,
    ResendOutcome, ResendRequest, RetentionKind, RetentionPeriods, Scope, Seq, StoreError,
    Timestamp, Verdict,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use secrecy::{ExposeSecret, SecretString};
use store::Store;
use testkit::store_contract::{
    attempt, code, delivery, held, inbox, mail, must, suited, valueless,
};

use super::command::{CONSUMERS, Command, INBOXES, LIFETIME, Open, REPLAY};
use super::process::Process;
use super::world::{Answer, Request, State, World};

const LEASE: i64 = 10_000;
/// How often a request is repeated while the database is unavailable.
const TRIES: u32 = 10;

type Checked = Result<(), TestCaseError>;

/// Plays one case after the other on one database. Each case has names of its own, so
/// that no case finds the rows of another.
pub(crate) struct Player {
    process: Process,
    case: u32,
    world: World,
    attempts: Vec<AttemptId>,
    artifacts: Vec<ArtifactId>,
    /// Whether the last work was interrupted and begun again.
    was_cut: bool,
}

impl Player {
    pub(crate) fn new(process: Process) -> Self {
        Self {
            process,
            case: 0,
            world: World::default(),
            attempts: Vec::new(),
            artifacts: Vec::new(),
            was_cut: false,
        }
    }

    pub(crate) fn end(self) {
        self.process.end();
    }

    /// Plays one case from an empty world.
    pub(crate) fn play(&mut self, commands: &[Command]) -> Checked {
        self.case += 1;
        self.world = World::default();
        self.attempts.clear();
        self.artifacts.clear();
        self.pass(1);
        for command in commands {
            self.perform(command, None)?;
        }
        for attempt in 0..self.attempts.len() {
            self.compare_attempt(attempt)?;
        }
        (0..INBOXES).try_for_each(|inbox| self.compare_feed(inbox))
    }

    /// Performs one command. With a `death`, the process first dies in the middle of it,
    /// after that many microseconds.
    fn perform(&mut self, command: &Command, death: Option<u16>) -> Checked {
        match command {
            Command::Open(asked) => self.open(*asked, death),
            Command::Send(mail) => {
                self.world.send(*mail);
                self.pass(1);
                Ok(())
            }
            Command::Deliver { mail, copy, twice } => self.deliver(*mail, *copy, *twice, death),
            Command::Resend { attempt, key } => self.resend(*attempt, *key, death),
            Command::Take {
                attempt,
                consumer,
                key,
            } => self.take(*attempt, &[(*consumer, *key)], death),
            Command::Race { attempt } => {
                // No other command uses these keys, so each request is a new one.
                let requests: Vec<Request> = (0..CONSUMERS).map(|who| (who, 100 + who)).collect();
                self.take(*attempt, &requests, death)
            }
            Command::Consume {
                artifact,
                consumer,
                key,
            } => self.consume(*artifact, (*consumer, *key)),
            Command::Finish { attempt, success } => self.finish(*attempt, *success, death),
            Command::Pass(millis) => {
                self.pass(*millis);
                Ok(())
            }
            Command::Wipe => {
                self.wipe();
                Ok(())
            }
            Command::Crash(command, after) => self.perform(command, Some(*after)),
        }
    }

    /// Runs some work. With a `death`, the process first begins the work and dies. While
    /// the database is unavailable, the work is repeated, as clients do: that happens on a
    /// busy machine, and whether the work was done is then unknown.
    fn run<T>(
        &mut self,
        death: Option<u16>,
        work: impl AsyncFn(Store) -> Result<T, StoreError>,
    ) -> T {
        self.was_cut = death.is_some();
        if let Some(after) = death {
            let store = self.process.store();
            let after = Duration::from_micros(after.into());
            self.process.die_during(work(store), after);
        }
        for _ in 0..TRIES {
            match self.process.run(work(self.process.store())) {
                Err(StoreError::Unavailable(_)) => self.was_cut = true,
                answer => return must(answer),
            }
        }
        panic!("the database stays unavailable");
    }

    fn pass(&mut self, millis: i64) {
        self.process.pass(millis);
        self.world.now = self.process.now;
    }

    fn open(&mut self, asked: Open, death: Option<u16>) -> Checked {
        let blank = NewAttempt {
            owner: must(format!("owner-{}", self.case).parse()),
            reference: asked.reference.map(|word| must(format!("r{word}").parse())),
            request: [asked.request; 16],
            timeout: millis(asked.patience),
            resends: asked.resends,
            ..attempt(&self.inbox(asked.inbox))
        };
        let opened = self.run(death, async |store| {
            let new = NewAttempt {
                id: AttemptId::new(),
                ..blank.clone()
            };
            store.attempts.open_attempt(new).await
        });
        if self.was_cut && asked.reference.is_none() {
            // Nobody can tell how many there are now, so there is nothing to compare.
            return Err(TestCaseError::reject(
                "was cut while opening without a reference",
            ));
        }
        let expected = self.world.open(asked);
        let answer = match opened {
            Opened::New(view) | Opened::Known(view) => self.known_attempt(view.id),
            Opened::ReferenceReused => Answer::ReferenceReused,
            Opened::KeyReused => return Err(TestCaseError::fail("no key was used")),
            Opened::InboxUnknown => return Err(TestCaseError::fail("the inbox is unknown")),
        };
        prop_assert_eq!(answer, expected);
        // No two are opened in the same millisecond, so there is an order.
        self.pass(1);
        Ok(())
    }

    fn known_attempt(&mut self, id: AttemptId) -> Answer {
        let index = self.attempts.iter().position(|known| *known == id);
        Answer::Attempt(index.unwrap_or_else(|| {
            self.attempts.push(id);
            self.attempts.len() - 1
        }))
    }

    fn deliver(&mut self, number: usize, copy: u8, twice: bool, death: Option<u16>) -> Checked {
        let Some((index, sent, sent_at)) = self.world.mail(number) else {
            return Ok(());
        };
        let post = |copy: u8| Post {
            name: format!("{}-{index}-{copy}", self.case),
            message: format!("{}-{index}", self.case),
            to: self.inbox(sent.inbox),
            code: sent.code.map(|code| self.code(code)),
            received_at: sent.is_stated.then(|| Timestamp::from_millis(sent_at)),
        };
        let posts = if twice {
            vec![post(copy), post(copy + 1)]
        } else {
            vec![post(copy)]
        };
        self.run(death, async |store| {
            try_join_all(posts.iter().map(|post| post.arrive(&store))).await
        });
        // A worker that died left its claim. The delivery is claimed again when the lease
        // has expired.
        self.world.deliver(index);
        while self.was_cut && !self.are_finished(&posts) {
            self.pass(LEASE);
            self.run(None, async |store| {
                try_join_all(posts.iter().map(|post| post.arrive(&store))).await
            });
            self.was_cut = true;
        }
        self.compare_feed(sent.inbox)
    }

    fn are_finished(&mut self, posts: &[Post]) -> bool {
        let finished = self.run(None, async |store| {
            try_join_all(posts.iter().map(|post| post.is_finished(&store))).await
        });
        self.was_cut = true;
        finished.into_iter().all(|finished| finished)
    }

    fn resend(&mut self, number: usize, key: u8, death: Option<u16>) -> Checked {
        let Some(index) = number.checked_rem(self.attempts.len()) else {
            return Ok(());
        };
        let asked = ResendRequest {
            attempt: self.attempts[index],
            consumer: self.consumer(0),
            scope: Scope::All,
            idempotency_key: must(format!("k{key}").parse()),
        };
        let resent = self.run(death, async |store| store.attempts.resend(&asked).await);
        let answer = match resent {
            ResendOutcome::Granted { left } | ResendOutcome::Repeated { left } => {
                Answer::Granted(left)
            }
            ResendOutcome::Spent => Answer::Spent,
            ResendOutcome::Over => Answer::Over,
            ResendOutcome::KeyReused => Answer::KeyReused,
            ResendOutcome::Unknown => return Err(TestCaseError::fail("the attempt is unknown")),
        };
        prop_assert_eq!(answer, self.world.resend(index, key));
        self.pass(1);
        self.compare_attempt(index)
    }

    /// Sends several consume requests at once. The database chooses their order, so the
    /// model serves first the request that got the value.
    fn take(&mut self, number: usize, requests: &[Request], death: Option<u16>) -> Checked {
        let Some(index) = number.checked_rem(self.attempts.len()) else {
            return Ok(());
        };
        let id = self.attempts[index];
        let asked: Vec<AttemptConsume> = requests
            .iter()
            .map(|&(consumer, key)| AttemptConsume {
                attempt: id,
                consumer: self.consumer(consumer),
                scope: Scope::All,
                idempotency_key: must(format!("k{key}").parse()),
                replay_window: millis(REPLAY),
            })
            .collect();
        let answers = self.run(death, async |store| {
            let asked = asked.iter();
            try_join_all(asked.map(|asked| store.attempts.consume_attempt(asked))).await
        });
        let mut answered: Vec<(Request, AttemptConsumed)> =
            requests.iter().copied().zip(answers).collect();
        answered.sort_by_key(|(_, answer)| !matches!(answer, AttemptConsumed::Value { .. }));
        for (request, answer) in answered {
            let answer = self.taken(answer)?;
            prop_assert_eq!(answer, self.world.take(index, request));
        }
        self.compare_attempt(index)
    }

    fn taken(&self, answer: AttemptConsumed) -> Result<Answer, TestCaseError> {
        Ok(match answer {
            AttemptConsumed::Value {
                artifact, value, ..
            } => self.disclosed(artifact, &value)?,
            AttemptConsumed::NotReady(view) => Answer::NotReady(state(&view)?),
            AttemptConsumed::Already { .. } => Answer::Already,
            AttemptConsumed::KeyReused => Answer::KeyReused,
            AttemptConsumed::Unknown => return Err(TestCaseError::fail("the attempt is unknown")),
        })
    }

    /// A value must be the one of its artifact.
    fn disclosed(&self, id: ArtifactId, value: &SecretString) -> Result<Answer, TestCaseError> {
        let index = self.artifacts.iter().position(|known| *known == id);
        let Some(index) = index else {
            return Err(TestCaseError::fail("an artifact that is not in the feed"));
        };
        let code = self.world.artifacts[index].code.map(|code| self.code(code));
        prop_assert_eq!(Some(value.expose_secret()), code.as_deref());
        Ok(Answer::Value(index))
    }

    fn consume(&mut self, number: usize, request: Request) -> Checked {
        let Some(index) = number.checked_rem(self.artifacts.len()) else {
            return Ok(());
        };
        let (consumer, key) = request;
        let id = self.artifacts[index];
        let asked = ConsumeRequest {
            artifact: id,
            consumer: self.consumer(consumer),
            scope: Scope::All,
            idempotency_key: must(format!("k{key}").parse()),
            replay_window: millis(REPLAY),
        };
        let answer = self.run(None, async |store| store.agents.consume(&asked).await);
        let answer = match answer {
            Consumed::First { value, .. } | Consumed::Replayed { value, .. } => {
                self.disclosed(id, &value)?
            }
            Consumed::Already { .. } => Answer::Already,
            Consumed::KeyReused => Answer::KeyReused,
            Consumed::Withheld(_) => Answer::Withheld,
            Consumed::Superseded => Answer::Superseded,
            Consumed::Expired { .. } => Answer::Expired,
            Consumed::Unknown => return Err(TestCaseError::fail("the artifact is unknown")),
        };
        prop_assert_eq!(answer, self.world.consume(index, request));
        Ok(())
    }

    fn finish(&mut self, number: usize, success: bool, death: Option<u16>) -> Checked {
        let Some(index) = number.checked_rem(self.attempts.len()) else {
            return Ok(());
        };
        let id = self.attempts[index];
        let outcome = if success {
            AttemptOutcome::Succeeded
        } else {
            AttemptOutcome::Failed
        };
        let ended = self.run(death, async |store| {
            store
                .attempts
                .finish_attempt(id, &Scope::All, outcome, None)
                .await
        });
        let answer = match ended {
            AttemptFinished::Finished(_) | AttemptFinished::Repeated(_) => Answer::Ended(success),
            AttemptFinished::KeyReused => return Err(TestCaseError::fail("no key was used")),
            AttemptFinished::OtherOutcome(outcome) => {
                Answer::Ended(outcome == AttemptOutcome::Succeeded)
            }
            AttemptFinished::Unknown => return Err(TestCaseError::fail("the attempt is unknown")),
        };
        prop_assert_eq!(answer, self.world.finish(index, success));
        Ok(())
    }

    /// Wipes values. The model has no such step, because it changes no answer.
    fn wipe(&mut self) {
        let keep = RetentionPeriods {
            consumed_values: millis(REPLAY),
            expired_values: Duration::ZERO,
            done_bodies: Duration::ZERO,
            dead_letter_bodies: Duration::ZERO,
            items: Duration::MAX,
            known: Duration::MAX,
            consumes: Duration::MAX,
            send_contents: Duration::MAX,
            send_events: Duration::MAX,
            intents: Duration::MAX,
        };
        self.run(None, async |store| {
            for waste in [RetentionKind::Values, RetentionKind::Bodies] {
                store.retention.discard(waste, &keep, 1000).await?;
            }
            Ok(())
        });
    }

    fn compare_attempt(&mut self, index: usize) -> Checked {
        let id = self.attempts[index];
        let view = self.run(None, async |store| {
            store.attempts.attempt(id, &Scope::All).await
        });
        let view = view.ok_or_else(|| TestCaseError::fail("the attempt is unknown"))?;
        prop_assert_eq!(state(&view)?, self.world.state(index));
        let expected = &self.world.attempts[index];
        prop_assert_eq!(view.resends_left, expected.resends_left());
        let current = expected.current.map(|artifact| self.artifacts[artifact]);
        prop_assert_eq!(view.current.map(|artifact| artifact.id), current);
        Ok(())
    }

    /// Compares the feed of an inbox: it must have the model's items in their order, and
    /// no others.
    fn compare_feed(&mut self, number: usize) -> Checked {
        let to = self.inbox(number);
        let items = self.run(None, async |store| {
            store.agents.artifacts(&to, Seq::START, 100).await
        });
        let expected = (0..self.world.artifacts.len())
            .filter(|index| self.world.artifacts[*index].inbox == number);
        let expected: Vec<usize> = expected.collect();
        prop_assert_eq!(items.len(), expected.len());
        for (item, (index, seq)) in items.iter().zip(expected.into_iter().zip(1_i64..)) {
            if index == self.artifacts.len() {
                self.artifacts.push(item.id);
            }
            prop_assert_eq!(item.id, self.artifacts[index]);
            prop_assert_eq!(item.seq, Seq::new(seq));
            self.compare_item(item, index)?;
        }
        Ok(())
    }

    fn compare_item(&self, item: &ArtifactView, index: usize) -> Checked {
        let expected = &self.world.artifacts[index];
        let attempt = expected.attempt.map(|attempt| self.attempts[attempt]);
        prop_assert_eq!(item.attempt, attempt);
        prop_assert_eq!(item.is_superseded, expected.is_superseded);
        prop_assert_eq!(item.is_expired, expected.is_expired(self.world.now));
        let consumed_at = expected.consumed.map(|it| Timestamp::from_millis(it.at));
        prop_assert_eq!(item.consumed_at, consumed_at);
        let has_value = item.verdict == Verdict::Usable;
        prop_assert_eq!(has_value, expected.code.is_some());
        Ok(())
    }

    fn inbox(&self, number: usize) -> InboxId {
        inbox(&format!("case-{}-{number}", self.case))
    }

    fn code(&self, number: u8) -> String {
        format!("{}{:05}", number + 1, self.case)
    }

    fn consumer(&self, number: u8) -> pipeline::ConsumerId {
        must(format!("consumer-{}-{number}", self.case).parse())
    }
}

/// One delivery of a mail, as a webhook records it and a worker processes it.
struct Post {
    name: String,
    message: String,
    to: InboxId,
    code: Option<String>,
    received_at: Option<Timestamp>,
}

impl Post {
    /// Records the delivery and processes it, unless somebody else does.
    async fn arrive(&self, store: &Store) -> Result<(), StoreError> {
        let new = delivery(&self.name, self.name.as_bytes());
        let recorded = store.deliveries.record(vec![new]).await?;
        let claimed = store.work.claim(recorded[0].id(), millis(LEASE)).await?;
        if let Claimed::Yours(claim, _) = claimed {
            let message = self.read(store).await?;
            let completed = store.work.complete(claim, held(vec![message])).await?;
            assert!(matches!(completed, Completed::Done(_)));
        }
        Ok(())
    }

    async fn is_finished(&self, store: &Store) -> Result<bool, StoreError> {
        let new = delivery(&self.name, self.name.as_bytes());
        let recorded = store.deliveries.record(vec![new]).await?;
        let claimed = store.work.claim(recorded[0].id(), Duration::ZERO).await?;
        Ok(matches!(claimed, Claimed::Finished))
    }

    /// The message that a worker makes of the mail, for the attempts on its inbox.
    async fn read(&self, store: &Store) -> Result<NewMessage, StoreError> {
        let to = &self.to;
        let expected = store.work.expectations(std::slice::from_ref(to)).await?;
        let waiting = expected[0].attempts.iter().map(|attempt| attempt.id);
        let waiting: Vec<AttemptId> = waiting.collect();
        let lifetime = millis(LIFETIME);
        let (artifact, misses) = if let Some(value) = &self.code {
            (suited(code(to, value), &waiting), Vec::new())
        } else {
            let verdict = Verdict::Abstained(Reason::new("no_code"));
            let nothing = valueless(to, ArtifactKind::Nothing, verdict);
            (nothing, waiting.into_iter().map(miss).collect())
        };
        let artifact = NewArtifact {
            lifetime,
            ..artifact
        };
        Ok(NewMessage {
            received_at: self.received_at,
            misses,
            ..mail(to, &self.message, vec![artifact])
        })
    }
}

fn miss(attempt: AttemptId) -> Miss {
    Miss {
        attempt,
        kind: MissKind::NoArtifact,
        reason: Reason::new("no_code"),
        seen: None,
    }
}

/// The state of an attempt as the model names it.
fn state(view: &AttemptView) -> Result<State, TestCaseError> {
    Ok(match view.status() {
        AttemptStatus::Pending => State::Pending,
        AttemptStatus::Ready => State::Ready,
        AttemptStatus::Consumed => State::Consumed,
        AttemptStatus::Superseded => State::Superseded,
        AttemptStatus::NoArtifact(_) => State::NoArtifact,
        AttemptStatus::NothingArrived => State::NothingArrived,
        AttemptStatus::Expired => State::Expired,
        AttemptStatus::Blocked(reason) => {
            return Err(TestCaseError::fail(reason.as_str().to_owned()));
        }
    })
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(millis.unsigned_abs())
}
