//! What can happen to a post between a provider and us, played step by step.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use pipeline::{Clock, SystemClock, Timestamp};
use providers::{Coverage, Post, Sample, Source};

/// What happens to the post on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Nothing: one post, as it should be.
    Plain,
    /// The answer is lost, and the provider posts it again.
    Duplicate,
    /// A retry comes as late as the provider's retries go, and one later still.
    Stale,
    /// Somebody without the secret posts.
    Forged,
    /// The newer of two mails is posted first.
    Reordered,
    /// Half of the body is missing.
    Truncated,
}

impl Scenario {
    /// The word for it on the command line.
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
    /// What is done.
    pub(crate) what: &'static str,
    /// What is sent.
    pub(crate) post: Post,
    /// The code or link in it.
    pub(crate) value: String,
    /// The answer that it must get.
    pub(crate) expected: u16,
    /// What an accepted one must be called.
    pub(crate) status: Option<&'static str>,
}

/// The mail that the posts of a scenario tell of.
pub(crate) struct Story<'a> {
    pub(crate) source: &'a Source,
    pub(crate) recipient: &'a str,
    /// Makes the subject, the text, and the code or link in it.
    pub(crate) write: &'a dyn Fn() -> [String; 3],
}

/// A proof this much inside or outside of the window is clearly so.
const MARGIN: Duration = Duration::from_secs(20);

impl Story<'_> {
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
                    // Nothing tells that it is not whole; it is kept for a person.
                    Coverage::Password => step.accepted(),
                    Coverage::Body | Coverage::TokenOnly => self.refused(step),
                }])
            }
        }
    }

    fn stale(&self, now: Timestamp) -> Result<Vec<Step>> {
        let Some(window) = self.source.tolerance() else {
            let week = before(now, Duration::from_hours(24 * 7));
            let step = self.step("a week late; this provider signs no time", week)?;
            return Ok(vec![step.accepted()]);
        };
        let late = before(now, window.saturating_sub(MARGIN));
        let too_late = before(now, window + MARGIN);
        let too_late = self.step("signed longer ago than a retry can be", too_late)?;
        Ok(vec![
            self.step("signed as long ago as a late retry may be", late)?
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
                spoil_password(&mut step.post);
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

/// Changes the password of a post, wherever it is.
fn spoil_password(post: &mut Post) {
    if let Some(query) = &mut post.query {
        query.push('x');
    }
    for (name, value) in &mut post.headers {
        if name == "authorization" {
            value.push('x');
        }
    }
}
