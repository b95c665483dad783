//! Inboxes with attempts that wait for overdue mail.

use std::time::Duration;

use pipeline::{AttemptMatch, AttemptOutcome, InboxId, NewAttempt, NewMessage, Opened};

use super::PollSubject;
use crate::store_contract::{LONG, attempt, code, inbox, mail, must, resend};

/// The inboxes whose attempts have waited for longer than `after` without mail.
async fn overdue(subject: &dyn PollSubject, after: Duration) -> Vec<InboxId> {
    let overdue = must(subject.polls().overdue_inboxes(after, 10).await);
    assert!(overdue.iter().all(|one| !one.remaining.is_zero()));
    overdue.into_iter().map(|one| one.inbox).collect()
}

async fn open(subject: &dyn PollSubject, attempt: NewAttempt) -> NewAttempt {
    let opened = must(subject.seams().attempts.open_attempt(attempt.clone()).await);
    assert!(matches!(opened, Opened::New(_)), "{opened:?}");
    attempt
}

/// A mail with a code for this attempt.
fn mail_for(to: &InboxId, id: &str, attempt: &NewAttempt) -> NewMessage {
    let mut artifact = code(to, id);
    let key = artifact.key;
    artifact.matches = vec![AttemptMatch {
        attempt: attempt.id,
        key,
    }];
    mail(to, id, vec![artifact])
}

/// An inbox is overdue after a while, until its mail has arrived.
pub async fn attempt_without_mail_is_overdue_until_mail_arrives(subject: &dyn PollSubject) {
    let to = inbox("agent");
    let opened = open(subject, attempt(&to)).await;
    assert_eq!(overdue(subject, LONG).await, [], "not overdue yet");
    assert_eq!(
        overdue(subject, Duration::ZERO).await,
        std::slice::from_ref(&to)
    );
    let message = mail_for(&to, "111111", &opened);
    let finished = subject.seams().process("evt_1", vec![message]).await;
    assert_eq!(finished.artifacts, 1);
    assert_eq!(overdue(subject, Duration::ZERO).await, []);
}

/// Attempts that are over are not overdue.
pub async fn finished_attempt_is_not_overdue(subject: &dyn PollSubject) {
    let (over, ended) = (inbox("over"), inbox("ended"));
    let brief = NewAttempt {
        timeout: Duration::ZERO,
        ..attempt(&over)
    };
    open(subject, brief).await;
    let given_up = open(subject, attempt(&ended)).await;
    let attempts = subject.seams().attempts;
    let outcome = AttemptOutcome::Abandoned;
    must(
        attempts
            .finish_attempt(given_up.id, &given_up.scope, outcome, None)
            .await,
    );
    assert_eq!(overdue(subject, Duration::ZERO).await, []);
}

/// Mail from before the resend does not end the wait.
pub async fn resend_restarts_the_wait_for_mail(subject: &dyn PollSubject) {
    let to = inbox("agent");
    let opened = open(subject, attempt(&to)).await;
    let message = mail_for(&to, "111111", &opened);
    subject.seams().process("evt_1", vec![message]).await;
    assert_eq!(overdue(subject, Duration::ZERO).await, []);
    let attempts = subject.seams().attempts;
    must(attempts.resend(&resend(opened.id, "a", "again")).await);
    assert_eq!(overdue(subject, Duration::ZERO).await, [to]);
    assert_eq!(overdue(subject, LONG).await, []);
}
