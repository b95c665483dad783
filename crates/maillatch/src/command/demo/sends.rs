//! The demo's steps of sending: twins, a lying provider, and workers that are killed
//! between the provider's acceptance and its answer.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Duration, sleep};

use super::TIMEOUT;
use super::provider::{Lie, Provider};
use super::transcript::Transcript;
use crate::deployment::{Deployment, Role};

const TWINS: usize = 50;

/// The settings of a sender that uses the demo's provider, and of an agent that may send.
pub(super) fn settings(provider: &Provider, token: &str) -> String {
    let url = &provider.url;
    format!(
        "send.timeout = \"500ms\"\nsend.lease_margin = \"1s\"\nsend.every = \"50ms\"\n\
         send.settle_first = \"50ms\"\nsend.settle_ceiling = \"200ms\"\n\
         senders.shop = {{ provider = \"resend\", api_url = \"{url}\", api_key = \"demo\", \
         from = \"Shop <shop@mail.example.com>\", recipients = [\"@example.com\"] }}\n\
         templates.shipped.subject = \"Order {{{{order}}}}\"\n\
         templates.shipped.text = \"Order {{{{order}}}} is {{{{state}}}}.\"\n\
         templates.shipped.values.order.type = \"id\"\n\
         templates.shipped.values.state = {{ type = \"choice\", choices = [\"paid\", \"sent\"] }}\n\
         key.mailer = {{ token = \"{token}\", inboxes = [], scopes = [\"send\"] }}\n"
    )
}

/// An agent that sends.
#[derive(Clone)]
pub(super) struct Mailer {
    http: Client,
    token: String,
}

/// One answer.
struct Answer {
    status: u16,
    body: Value,
}

impl Answer {
    fn id(&self) -> String {
        let id = self.body.get("id").and_then(Value::as_str);
        id.unwrap_or_default().to_owned()
    }
}

impl Mailer {
    pub(super) fn new(token: String) -> Result<Self> {
        let http = Client::builder().timeout(TIMEOUT).build()?;
        Ok(Self { http, token })
    }

    async fn order(&self, url: &url::Url, to: &str, order: &str, state: &str) -> Result<Answer> {
        let order = json!({
            "sender": "shop",
            "intent": {"type": "order.shipped", "entity": order, "version": 1},
            "to": to,
            "template": "shipped",
            "values": {"order": order, "state": state},
        });
        let request = self.http.post(url.join("v1/sends")?);
        let answer = request.bearer_auth(&self.token).json(&order).send().await?;
        Ok(Answer {
            status: answer.status().as_u16(),
            body: answer.json().await?,
        })
    }

    async fn until_sent(&self, deployment: &Deployment, id: &str) -> Result<Duration> {
        let began = Instant::now();
        loop {
            let url = deployment.url(Role::Feed, 0)?;
            let request = self.http.get(url.join(&format!("v1/sends/{id}"))?);
            let answer = request.bearer_auth(&self.token).send().await?;
            let body: Value = answer.json().await?;
            if body.get("state").and_then(Value::as_str) == Some("sent") {
                return Ok(began.elapsed());
            }
            ensure!(began.elapsed() < TIMEOUT, "the send stays {body}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

const USER: &str = "user@example.com";

pub(super) async fn play(
    deployment: &mut Deployment,
    provider: &Provider,
    mailer: &Mailer,
    transcript: &mut Transcript,
) -> Result<()> {
    stranger(deployment, mailer, transcript).await?;
    twins(deployment, provider, mailer, transcript).await?;
    lying_provider(deployment, provider, mailer, transcript).await?;
    kill(deployment, provider, mailer, transcript).await
}

async fn stranger(
    deployment: &Deployment,
    mailer: &Mailer,
    transcript: &mut Transcript,
) -> Result<()> {
    let url = deployment.url(Role::Feed, 0)?;
    let answer = mailer.order(&url, "eve@evil.test", "o1", "paid").await?;
    let line = format!("to an address that is not listed → {}", answer.status);
    transcript.step("stranger", line, answer.status == 403)
}

async fn twins(
    deployment: &Deployment,
    provider: &Provider,
    mailer: &Mailer,
    transcript: &mut Transcript,
) -> Result<()> {
    let mut orders = JoinSet::new();
    for twin in 0..TWINS {
        let (mailer, url) = (mailer.clone(), deployment.url(Role::Feed, twin)?);
        let state = if twin % 2 == 0 { "paid" } else { "sent" };
        orders.spawn(async move { mailer.order(&url, USER, "o1", state).await });
    }
    let (mut created, mut ids) = (0, BTreeSet::new());
    while let Some(answer) = orders.join_next().await {
        let answer = answer??;
        created += usize::from(answer.status == 201);
        ids.insert(answer.id());
    }
    let id = ids.first().context("there is no answer")?;
    mailer.until_sent(deployment, id).await?;
    let line = format!(
        "{TWINS} orders of one intent at once, in two wordings → {created} created, {} id, {} mail",
        ids.len(),
        provider.accepted()
    );
    let passed = created == 1 && ids.len() == 1 && provider.accepted() == 1;
    transcript.step("twins", line, passed)
}

async fn lying_provider(
    deployment: &Deployment,
    provider: &Provider,
    mailer: &Mailer,
    transcript: &mut Transcript,
) -> Result<()> {
    provider.lie(Lie::Fail);
    let url = deployment.url(Role::Feed, 0)?;
    let answer = mailer.order(&url, USER, "o2", "paid").await?;
    let took = mailer.until_sent(deployment, &answer.id()).await?;
    let line = format!(
        "the provider accepts and answers 500 → uncertain, settled by its key in {} ms, {} mails in all",
        took.as_millis(),
        provider.accepted()
    );
    transcript.step("lie", line, provider.accepted() == 2)
}

async fn kill(
    deployment: &mut Deployment,
    provider: &Provider,
    mailer: &Mailer,
    transcript: &mut Transcript,
) -> Result<()> {
    provider.lie(Lie::Hang);
    let url = deployment.url(Role::Feed, 0)?;
    let answer = mailer.order(&url, USER, "o3", "paid").await?;
    provider.until_accepted(3).await?;
    deployment.kill(Role::Worker).await?;
    deployment.revive().await?;
    let took = mailer.until_sent(deployment, &answer.id()).await?;
    let line = format!(
        "workers killed after the provider accepted → uncertain, settled in {} ms, {} mails in all",
        took.as_millis(),
        provider.accepted()
    );
    transcript.step("kill -9", line, provider.accepted() == 3)
}
