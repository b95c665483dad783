//! The demo's steps: one signed mail, its duplicates, a forgery, one code, one
//! consumer, and workers that are killed while they work.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pipeline::InboxId;
use secrecy::ExposeSecret;
use tokio::time::sleep;

use crate::deployment::{CONSUMERS, Deployment, Role};
use client::{
    Consumption, Delivery, Hook, Item, Kind, Posted, Sample, SampleKind, State, sample_mail,
};

use super::TIMEOUT;
use super::transcript::Transcript;

/// Mails that are posted before the kill; posted again if the workers were too fast.
const BATCH: usize = 30;
/// Lines of text in each mail, so that processing takes some milliseconds.
const FILLER_LINES: usize = 7_000;

pub(super) async fn play(deployment: &mut Deployment, transcript: &mut Transcript) -> Result<()> {
    let inbox: InboxId = "demo@inbox.test".parse()?;
    let sample = sample_mail(SampleKind::Otp, &inbox);
    open(deployment, &inbox, transcript)?;
    post_and_forge(deployment, &inbox, &sample, transcript).await?;
    let artifact = find_code(deployment, &inbox, &sample, transcript).await?;
    consume_once(deployment, &artifact, &sample, transcript).await?;
    kill_workers(deployment, transcript).await
}

fn open(deployment: &Deployment, inbox: &InboxId, transcript: &mut Transcript) -> Result<()> {
    let count = |role| deployment.playing(role).count();
    let (webhooks, workers, feeds) = (count(Role::Webhook), count(Role::Worker), count(Role::Feed));
    let line = format!(
        "inbox {inbox}, links to example.com allowed; {webhooks} webhook, {workers} worker, {feeds} feed"
    );
    transcript.step("open", line, webhooks > 0 && workers > 0 && feeds > 0)
}

async fn post_and_forge(
    deployment: &Deployment,
    inbox: &InboxId,
    sample: &Sample,
    transcript: &mut Transcript,
) -> Result<()> {
    let delivery = Delivery::of_mail(&sample.mail, std::slice::from_ref(inbox));
    let began = Instant::now();
    let first = deployment.hook(0)?.post_signed(&delivery).await?;
    let (bytes, ms) = (delivery.body.len(), began.elapsed().as_millis());
    let line = format!(
        "signed post of {bytes} bytes → {} in {ms} ms",
        answer_of(&first)
    );
    transcript.step("webhook", line, answer_of(&first) == "200 accepted")?;

    let mut answers = Vec::new();
    for which in 0..3 {
        answers.push(answer_of(
            &deployment.hook(which)?.post_signed(&delivery).await?,
        ));
    }
    let passed = answers.iter().all(|answer| answer == "200 duplicate");
    transcript.step(
        "again",
        format!("the same post three more times → {}", answers.join(", ")),
        passed,
    )?;

    let hook = deployment.hook(0)?;
    let mut forged = hook.sign(&Delivery::of_mail(
        &sample.mail,
        std::slice::from_ref(inbox),
    ))?;
    forged.body.push(b' ');
    let answer = hook.post(&forged).await?;
    let line = format!("one byte added after signing → {}", answer.http);
    transcript.step("forged", line, answer.http == 401)
}

fn answer_of(posted: &Posted) -> String {
    format!(
        "{} {}",
        posted.http,
        posted.status.as_deref().unwrap_or("refused")
    )
}

async fn find_code(
    deployment: &Deployment,
    inbox: &InboxId,
    sample: &Sample,
    transcript: &mut Transcript,
) -> Result<String> {
    let items = until_items(deployment, inbox, 1).await?;
    let item = items.first().context("there is no item")?;
    let rivals: Vec<String> = sample
        .rivals
        .iter()
        .map(|(text, what)| format!("{text} ({what})"))
        .collect();
    let line = format!(
        "one code by rule {}, confidence {}; rejected: {}",
        item.rule,
        item.confidence,
        rivals.join(", ")
    );
    let passed = items.len() == 1 && item.kind == Kind::Code && item.state == State::Available;
    transcript.step("worker", line, passed)?;
    Ok(item.id.clone())
}

async fn consume_once(
    deployment: &Deployment,
    artifact: &str,
    sample: &Sample,
    transcript: &mut Transcript,
) -> Result<()> {
    let [winner, other] = CONSUMERS;
    let first = deployment.agent(0)?.consume(artifact, "k1").await?;
    let value = disclosed(&first, false).unwrap_or_default();
    transcript.step(
        "consume",
        format!("{winner} with key k1 → 200 {value}"),
        value == sample.value,
    )?;

    let retry = deployment.agent(0)?.consume(artifact, "k1").await?;
    let again = disclosed(&retry, true).unwrap_or_default();
    let line = format!("{winner} with key k1 again (its answer was lost) → 200 {again}, replayed");
    transcript.step("retry", line, again == sample.value)?;

    let second = deployment.agent(1)?.consume(artifact, "k2").await?;
    let refused = matches!(second, Consumption::Already { .. });
    transcript.step(
        "second",
        format!("{other} with key k2 → 409 already consumed"),
        refused,
    )
}

/// The disclosed value; `None` if there is none, or if the answer is a replay and should
/// not be one, or the other way round.
fn disclosed(consumption: &Consumption, replay: bool) -> Option<String> {
    match consumption {
        Consumption::Disclosed(disclosed) if disclosed.is_replay == replay => {
            Some(disclosed.value.expose_secret().to_owned())
        }
        _ => None,
    }
}

/// Kills the workers while they work and checks that every mail has one item.
async fn kill_workers(deployment: &mut Deployment, transcript: &mut Transcript) -> Result<()> {
    let inbox: InboxId = "busy@inbox.test".parse()?;
    let mut codes = BTreeSet::new();
    let unfinished = loop {
        post_batch(deployment, &inbox, &mut codes).await?;
        let posted = codes.len();
        let done = items(deployment, &inbox).await?.len();
        deployment.kill(Role::Worker).await?;
        deployment.revive().await?;
        // If nothing was unfinished at the kill, the step proves nothing: repeat it.
        if done < posted || posted >= 10 * BATCH {
            break posted - done;
        }
    };
    let posted = codes.len();
    let items = until_items(deployment, &inbox, posted).await?;
    let line = format!(
        "workers killed with {unfinished} of {posted} mails unfinished, restarted → {} items",
        items.len()
    );
    transcript.step("kill -9", line, unfinished > 0 && items.len() == posted)
}

/// Posts a batch of mails as fast as possible. Each has a different code, because the
/// same code twice would be one artifact.
async fn post_batch(
    deployment: &Deployment,
    inbox: &InboxId,
    codes: &mut BTreeSet<String>,
) -> Result<()> {
    let mut posts = tokio::task::JoinSet::new();
    let full = codes.len() + BATCH;
    while codes.len() < full {
        let code = rand::random_range(100_000..=999_999).to_string();
        if !codes.insert(code.clone()) {
            continue;
        }
        let hook = deployment.hook(codes.len())?;
        let delivery = Delivery::of_mail(&long_mail(&code), std::slice::from_ref(inbox));
        posts.spawn(async move { post_with_retries(&hook, &delivery).await });
    }
    while let Some(post) = posts.join_next().await {
        let posted = post??;
        ensure!(posted.http == 200, "a post was answered {}", posted.http);
    }
    Ok(())
}

/// How long a post is repeated.
const POST_TIMEOUT: Duration = Duration::from_mins(2);

/// Posts a delivery as a provider does: it retries while the server answers 503 or not at
/// all. The waits grow: on a busy machine, posts that are all repeated at once would keep
/// the server from its commits.
async fn post_with_retries(hook: &Hook, delivery: &Delivery) -> Result<Posted> {
    let deadline = Instant::now() + POST_TIMEOUT;
    let mut wait = Duration::from_millis(200);
    loop {
        match hook.post_signed(delivery).await {
            Ok(posted) if posted.http == 503 && Instant::now() < deadline => {}
            Err(_no_answer) if Instant::now() < deadline => {}
            result => return Ok(result?),
        }
        sleep(wait.mul_f64(0.5 + rand::random::<f64>())).await;
        wait = (wait * 2).min(Duration::from_secs(5));
    }
}

/// A mail so long that a kill hits a worker while it processes one.
fn long_mail(code: &str) -> Vec<u8> {
    let mail = format!(
        "From: no-reply@example.com\r\nMessage-ID: <{code}@example.com>\r\n\
         Subject: Your verification code\r\n\r\nYour verification code is {code}.\r\n\r\n{}",
        "Thank you for reading.\r\n".repeat(FILLER_LINES)
    );
    mail.into_bytes()
}

/// Every item of an inbox, page after page.
async fn items(deployment: &Deployment, inbox: &InboxId) -> Result<Vec<Item>> {
    let agent = deployment.agent(0)?;
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let page = agent.list(inbox, cursor.as_deref(), Duration::ZERO).await?;
        if page.items.is_empty() {
            return Ok(items);
        }
        items.extend(page.items);
        cursor = Some(page.next_cursor);
    }
}

/// Waits for items. On a busy machine they arrive slowly, so each new item starts the
/// timeout again.
async fn until_items(deployment: &Deployment, inbox: &InboxId, count: usize) -> Result<Vec<Item>> {
    let mut deadline = Instant::now() + TIMEOUT;
    let mut arrived = 0;
    loop {
        let items = items(deployment, inbox).await?;
        if items.len() >= count {
            return Ok(items);
        }
        if items.len() > arrived {
            arrived = items.len();
            deadline = Instant::now() + TIMEOUT;
        }
        ensure!(
            Instant::now() < deadline,
            "{arrived} of {count} items arrived, and no other in {TIMEOUT:?}"
        );
        sleep(Duration::from_millis(20)).await;
    }
}
