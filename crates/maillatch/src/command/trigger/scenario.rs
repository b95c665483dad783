//! What can happen to a post between a provider and the server, step by step.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use pipeline::{Clock, SystemClock, Timestamp};
use providers::{Coverage, Post, Sample, Source};

/// What happens to the post on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Nothing: one correct post.
    Plain,
    /// The answer is lost, and the provider posts again.
    Duplicate,
    /// One retry at the end of the accepted time window, and one after it.
    Stale,
    /// Somebody without the secret posts.
    Forged,
    /// The newer of two mails is posted first.
    Reordered,
    /// Half of the body is missing.
    Truncated,
}

impl Scenario {
    /// Its name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Duplicate => "duplicate",
            Self::Stale => "stale",
            Self::Forged => "forged",
            Self::Reordered => "reordered",
            Self::Truncated => "truncated",
        }
    }
}

/// One post of a scenario.
pub(crate) struct Step {
    /// What this step does.
    pub(crate) what: &'static str,
    /// The post.
    pub(crate) post: Post,
    /// The code or link in it.
    pub(crate) value: String,
    /// The status that it must be answered with.
    pub(crate) expected: u16,
    /// The `status` of the answer, if it is accepted.
    pub(crate) status: Option<&'static str>,
}

/// Writes the posts of a scenario.
pub(crate) struct Script<'a> {
    pub(crate) source: &'a Source,
    pub(crate) recipient: &'a str,
    /// Makes the subject, the text, and the code or link in it.
    pub(crate) write: &'a dyn Fn() -> [String; 3],
}

/// How far inside or outside of the accepted time window a signature is.
const MARGIN: Duration = Duration::from_secs(20);

impl Script<'_> {
    /// The steps of a scenario, in order.
    pub(crate) fn steps(&self, scenario: Scenario) -> Result<Vec<Step>> {
        let now = SystemClock.now();
        match scenario {
            Scenario::Plain => Ok(vec![self.step("posted", now)?.accepted()]),
            Scenario::Duplicate => {
                let first = self.step("posted", now)?.accepted();
                let again = Step {
                    what: "posted again, the same bytes",
                    post: first.post.clone(),
                    value: first.value.clone(),
                    expected: 200,
                    status: Some("duplicate"),
                };
                Ok(vec![first, again])
            }
            Scenario::Stale => self.stale(now),
            Scenario::Forged => self.forged(now),
            Scenario::Reordered => {
                let older = self.step("the older mail, posted second", before(now, MARGIN))?;
                let newer = self.step("the newer mail, posted first", now)?;
                Ok(vec![newer.accepted(), older.accepted()])
            }
            Scenario::Truncated => {
                let mut step = self.step("half of the body cut off after signing", now)?;
                let half = step.post.body.len() / 2;
                step.post.body.truncate(half);
                Ok(vec![match self.source.coverage() {
                    // Nothing shows that it is incomplete, so it is accepted and dead-lettered.
                    Coverage::Password => step.accepted(),
                    Coverage::Body | Coverage::TokenOnly => self.refused(step),
                }])
            }
        }
    }

    fn stale(&self, now: Timestamp) -> Result<Vec<Step>> {
        let Some(window) = self.source.tolerance() else {
            let week = before(now, Duration::from_hours(24 * 7));
            let step = self.step("a week late (this provider signs no time)", week)?;
            return Ok(vec![step.accepted()]);
        };
        let late = before(now, window.saturating_sub(MARGIN));
        let too_late = before(now, window + MARGIN);
        let too_late = self.step("signed before the accepted time window", too_late)?;
        Ok(vec![
            self.step("signed at the start of the accepted time window", late)?
                .accepted(),
            self.refused(too_late),
        ])
    }

    fn forged(&self, now: Timestamp) -> Result<Vec<Step>> {
        let mut step = self.step("a byte added to the body after signing", now)?;
        match self.source.coverage() {
            Coverage::Body => step.post.body.push(b'x'),
            Coverage::Password => {
                step.what = "another password";
                break_password(&mut step.post);
            }
            Coverage::TokenOnly => {
                let first = Step {
                    what: "posted",
                    post: step.post.clone(),
                    value: step.value.clone(),
                    ..step
                };
                step.what = "the same token with another body";
                step.post.body.extend_from_slice(b"&x=y");
                return Ok(vec![first.accepted(), self.refused(step)]);
            }
        }
        Ok(vec![self.refused(step)])
    }

    fn step(&self, what: &'static str, at: Timestamp) -> Result<Step> {
        let [subject, text, value] = (self.write)();
        let id = format!("test_{}", uuid::Uuid::now_v7().simple());
        let post = self.source.sample(&Sample {
            id: &id,
            at,
            from: "no-reply@example.com",
            recipient: self.recipient,
            subject: &subject,
            text: &text,
        });
        let provider = self.source.provider();
        Ok(Step {
            what,
            post: post
                .with_context(|| format!("only {provider} itself can sign for {provider}"))?,
            value,
            expected: 200,
            status: None,
        })
    }

    fn refused(&self, step: Step) -> Step {
        Step {
            expected: self.source.answers().unproven,
            status: None,
            ..step
        }
    }
}

impl Step {
    fn accepted(self) -> Self {
        Self {
            status: Some("accepted"),
            ..self
        }
    }
}

fn before(now: Timestamp, span: Duration) -> Timestamp {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(millis))
}

/// Makes the password of a post wrong, in the query or in a header.
fn break_password(post: &mut Post) {
    if let Some(query) = &mut post.query {
        query.push('x');
    }
    for (name, value) in &mut post.headers {
        if name == "authorization" {
            value.push('x');
        }
    }
}
