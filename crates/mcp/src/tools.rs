//! What the tools do: one or two calls of the client each.

use std::time::Duration;

use client::{
    Attempt, AttemptConsumption, AttemptValue, CallError, Client, Complaint, FinishAnswer,
    ResendAnswer,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::arguments::{Explain, Finish, Resend, Start, Wait, Wanted};
use crate::message::message_of;
use crate::{advice, answer, keys};

/// How many times a model may ask the site for another mail.
const RESENDS: u32 = 3;
/// The longest wait of one request to the server.
const ONE_WAIT: Duration = Duration::from_secs(25);
/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(300);
/// How often a request is repeated after the time is up: the value arrives or is
/// replaced at this moment, or the server was away.
const LAST_TRIES: u32 = 3;

pub(crate) async fn start(client: &Client, start: Start) -> Result<Value, CallError> {
    let mut body = json!({
        "reference": start.reference,
        "kind": start.kind.as_str(),
        "from": start.from,
        "resends": RESENDS,
    });
    if let Value::Object(fields) = &mut body {
        let optional = [
            ("links", start.link_hosts.map(|hosts| json!(hosts))),
            ("inbox", start.address.map(|address| json!(address))),
            ("deadline", start.expires_in_s.map(|seconds| json!(seconds))),
        ];
        let given = optional.into_iter();
        let given = given.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        fields.extend(given);
    }
    let attempt = client.open_attempt(&body).await.map_err(in_own_words)?;
    Ok(answer::started(&attempt))
}

/// Names an invalid field as the tool does, and not as the API does.
fn in_own_words(error: CallError) -> CallError {
    let CallError::Invalid(complaint) = error else {
        return error;
    };
    let field = complaint.field.map(|field| match field.as_str() {
        "links" => "link_hosts".to_owned(),
        "inbox" => "address".to_owned(),
        "deadline" => "expires_in_s".to_owned(),
        _ => field,
    });
    CallError::Invalid(Complaint {
        // The sentence speaks of a body, which a tool does not have.
        detail: complaint.detail.filter(|_| field.is_none()),
        field,
        ..complaint
    })
}

/// Waits for the value of an attempt and consumes it.
pub(crate) async fn wait(client: &Client, wanted: Wanted, wait: &Wait) -> Result<Value, CallError> {
    let until = Instant::now() + wait.timeout();
    let mut last_tries = 0;
    loop {
        let began = Instant::now();
        let left = until.saturating_duration_since(began);
        let outcome = look(client, wanted, &wait.attempt_id, left).await;
        let goes_on = match &outcome {
            Ok(Seen::Open(attempt)) => !left.is_zero() || attempt.is_ready(),
            Ok(Seen::Answer(_)) => false,
            Err(error) => error.is_transient(),
        };
        if left.is_zero() {
            last_tries += 1;
        }
        if !goes_on || last_tries > LAST_TRIES {
            return Ok(match outcome? {
                Seen::Answer(value) => value,
                Seen::Open(attempt) => answer::missed(&attempt),
            });
        }
        // The server waits for whole seconds, and answers at once when it stops.
        let rest = until.saturating_duration_since(Instant::now());
        let pause = if rest.is_zero() {
            PAUSE
        } else {
            PAUSE.min(rest)
        };
        if began.elapsed() < Duration::from_secs(1) {
            sleep(pause).await;
        }
    }
}

/// What one look at an attempt gave.
enum Seen {
    /// The answer for the model.
    Answer(Value),
    /// Nothing yet; waiting may help.
    Open(Box<Attempt>),
}

async fn look(
    client: &Client,
    wanted: Wanted,
    id: &str,
    left: Duration,
) -> Result<Seen, CallError> {
    let attempt = client.attempt(id, Duration::ZERO).await?;
    if ![wanted.as_str(), "either"].contains(&attempt.kind.as_str()) {
        let tool = advice::tool_for(&attempt);
        let next = format!(
            "This attempt is for a {}. Call {tool}, or call start_attempt with a new reference \
             and kind {}.",
            attempt.kind,
            wanted.as_str()
        );
        return Ok(Seen::Answer(
            json!({ "status": "other_kind", "next": next }),
        ));
    }
    let key = keys::consume(&attempt);
    let consumed = client.consume_attempt(id, &key, left.min(ONE_WAIT)).await?;
    Ok(match consumed {
        AttemptConsumption::Value(value) => Seen::Answer(found(&attempt, &value)),
        AttemptConsumption::Already { .. } => {
            Seen::Answer(json!({ "status": "already_consumed", "next": advice::ALREADY }))
        }
        AttemptConsumption::NotReady(attempt) if attempt.may_change() || attempt.is_ready() => {
            Seen::Open(attempt)
        }
        AttemptConsumption::NotReady(attempt) => Seen::Answer(answer::missed(&attempt)),
    })
}

fn found(attempt: &Attempt, given: &AttemptValue) -> Value {
    let name = if given.kind == "link" { "url" } else { "code" };
    let mut answer = json!({
        "status": "found",
        name: given.value.expose_secret(),
        "next": advice::found(attempt),
    });
    if let Value::Object(fields) = &mut answer {
        // An older server does not say.
        let verified = given.sender_verified.map(|is_proven| json!(is_proven));
        let proof = given.sender_proof.as_ref().map(|word| json!(word));
        let sender = [("sender_verified", verified), ("sender_proof", proof)];
        let sender = sender.into_iter();
        fields.extend(sender.filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    answer
}

pub(crate) async fn resend(client: &Client, resend: &Resend) -> Result<Value, CallError> {
    let key = keys::resend(&resend.attempt_id, resend.number);
    let answer = client.resend(&resend.attempt_id, &key).await?;
    Ok(match answer {
        ResendAnswer::Granted { left } => json!({
            "allowed": true,
            "resends_left": left,
            "next": "Press \"send again\" at the site once, then wait again with the same \
                attempt_id.",
        }),
        ResendAnswer::Spent => json!({
            "allowed": false,
            "resends_left": 0,
            "next": "Do not ask the site again. Call explain_attempt, and tell the user.",
        }),
        ResendAnswer::Over => json!({
            "allowed": false,
            "next": "The attempt is over. Call start_attempt with a new reference.",
        }),
    })
}

pub(crate) async fn explain(client: &Client, explain: &Explain) -> Result<Value, CallError> {
    let attempt = client.attempt(&explain.attempt_id, Duration::ZERO).await?;
    let message = message_of(client, &attempt).await;
    Ok(answer::explained(&attempt, &message))
}

pub(crate) async fn finish(client: &Client, finish: &Finish) -> Result<Value, CallError> {
    let answer = client
        .finish_attempt(&finish.attempt_id, finish.outcome.as_str())
        .await?;
    Ok(match answer {
        FinishAnswer::Finished(_) => json!({ "status": "finished", "next": "Nothing." }),
        FinishAnswer::OtherOutcome => json!({
            "status": "finished_before",
            "next": "Nothing. It was finished with another outcome.",
        }),
    })
}
