//! `maillatch guard` and `maillatch sends`: what they print, and an exit code for each
//! outcome.

use std::process::{Command, Output};

use serde_json::Value;
use testkit::mail_provider::{Lie, MailProvider};
use testkit::wait;

use crate::harness::{Harness, binary, on_both_profiles};

on_both_profiles!(guard_command_prints_a_claim_and_has_a_code_for_each_outcome);

async fn ended(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

fn said(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap().trim()
}

fn complained(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap().trim()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A new key with this scope.
async fn key(harness: &Harness, scope: &str) -> String {
    let order = ["api-key", "create", scope, "--scope", scope];
    let made = ended(harness.command(&order)).await;
    assert!(made.status.success(), "{made:?}");
    said(&made).to_owned()
}

/// `maillatch guard` with this key, against a server of the deployment.
async fn guard(harness: &Harness, key: &str, args: &[&str]) -> (i32, Output) {
    let (url, _) = harness.agent();
    let mut command = Command::new(binary());
    command.arg("guard").args(args);
    command.env("MAILLATCH_URL", url).env("MAILLATCH_KEY", key);
    let output = ended(command).await;
    (output.status.code().unwrap(), output)
}

async fn guard_command_prints_a_claim_and_has_a_code_for_each_outcome(harness: Harness) {
    let key = key(&harness, "guard").await;
    let ticket = |entity, lease| {
        let intent = ["--kind", "ticket", "--type", "ticket.open", "--entity"];
        [&["claim", "shop"], &intent[..], &[entity, "--lease", lease]].concat()
    };
    let claim = ticket("order_1", "10m");
    let (code, claimed) = guard(&harness, &key, &claim).await;
    assert_eq!(code, 0, "{claimed:?}");
    let line = said(&claimed).to_owned();
    let fields: Vec<&str> = line.split(' ').collect();
    let [id, token, provider_key] = fields[..] else {
        panic!("{line}");
    };
    assert!(id.starts_with("grd_") && provider_key.starts_with("ml-"));
    assert_eq!(complained(&claimed), "");

    // A second caller may not act.
    let (code, refused) = guard(&harness, &key, &claim).await;
    assert_eq!((code, said(&refused)), (6, ""));
    assert!(complained(&refused).contains(id), "{refused:?}");
    let (code, shown) = guard(&harness, &key, &["show", id]).await;
    assert_eq!((code, said(&shown)), (0, "claimed"));

    // Released, it is claimed again, and the old token is stale.
    let (code, _) = guard(&harness, &key, &["release", id, token]).await;
    assert_eq!(code, 0);
    let again = [&claim[..], &["--json"]].concat();
    let (code, again) = guard(&harness, &key, &again).await;
    assert_eq!(code, 0);
    let newer = json(&again)["token"].as_str().unwrap().to_owned();
    let (code, stale) = guard(&harness, &key, &["release", id, token]).await;
    assert_eq!(code, 9, "{stale:?}");

    // Confirmed, its result is there for everybody.
    let confirm = ["confirm", id, &newer, "--result", "ticket-7"];
    let (code, done) = guard(&harness, &key, &confirm).await;
    assert_eq!((code, said(&done)), (0, "done ticket-7"));
    let known = [&claim[..], &["--json"]].concat();
    let (code, known) = guard(&harness, &key, &known).await;
    assert_eq!((code, &json(&known)["result"]), (6, &"ticket-7".into()));

    // Without a report it is uncertain, and no caller may act.
    let unreported = ticket("order_2", "1s");
    let (code, _) = guard(&harness, &key, &unreported).await;
    assert_eq!(code, 0);
    let uncertain = wait::until("the end of the lease", async || {
        let (code, output) = guard(&harness, &key, &unreported).await;
        (code != 6).then_some((code, output))
    })
    .await;
    assert_eq!((uncertain.0, said(&uncertain.1)), (5, ""));
    assert!(complained(&uncertain.1).contains("do not act"));

    // Keys and usage.
    let (_, reader) = harness.agent();
    assert_eq!(guard(&harness, &reader, &claim).await.0, 7);
    assert_eq!(guard(&harness, &key, &["claim", "shop"]).await.0, 2);
    harness.end().await;
}

/// A deployment whose sender `shop` uses this provider. Every mail needs an approval.
fn with_sender(provider: &MailProvider) -> String {
    format!(
        "send.every = \"50ms\"\nsend.settle_first = \"100ms\"\n\
         senders.shop = {{ provider = \"ses\", api_url = \"{}\", region = \"eu-west-1\", \
         access_key = \"AK\", secret_key = \"SK\", from = \"shop@mail.example.com\", \
         recipients = [\"@example.com\"], approval = \"always\" }}\n\
         templates.shipped = {{ subject = \"Shipped\", text = \"It is on its way.\" }}\n",
        provider.url
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_command_decides_and_settles_on_the_embedded_profile() {
    let provider = MailProvider::start().await;
    let harness = Harness::embedded_with(&with_sender(&provider)).await;
    sends_command_decides_and_settles(harness, provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_command_decides_and_settles_on_the_full_profile() {
    let provider = MailProvider::start().await;
    let harness = Harness::full_with(&with_sender(&provider)).await;
    sends_command_decides_and_settles(harness, provider).await;
}

/// `maillatch sends` beside the servers.
async fn sends(harness: &Harness, args: &[&str]) -> Output {
    ended(harness.command(&[&["sends"], args].concat())).await
}

/// Asks for a mail; returns the id of the send.
async fn order(harness: &Harness, key: &str, entity: &str) -> String {
    let (url, _) = harness.agent();
    let body = serde_json::json!({
        "sender": "shop",
        "intent": { "type": "order.shipped", "entity": entity, "version": 1 },
        "to": "user@example.com",
        "template": "shipped",
        "values": {},
    });
    let url = format!("{url}v1/sends");
    let request = reqwest::Client::new().post(url).bearer_auth(key);
    let answer = request.json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let answer: Value = answer.json().await.unwrap();
    answer["id"].as_str().unwrap().to_owned()
}

/// Waits until `sends show` has a state.
async fn until_state(harness: &Harness, id: &str, state: &str) -> Value {
    wait::until(state, async || {
        let shown = json(&sends(harness, &["show", id, "--json"]).await);
        (shown["state"] == state).then_some(shown)
    })
    .await
}

async fn sends_command_decides_and_settles(harness: Harness, provider: MailProvider) {
    let key = key(&harness, "send").await;
    let listed = sends(&harness, &["list"]).await;
    assert_eq!((listed.status.code(), said(&listed)), (Some(0), ""));
    assert!(complained(&listed).contains("no sends in the state uncertain"));

    // Held: refused, or approved. One that was decided about is not decided about again.
    let refused = order(&harness, &key, "order_1").await;
    let listed = sends(&harness, &["list", "--state", "held"]).await;
    assert!(said(&listed).starts_with(&refused), "{listed:?}");
    assert!(said(&listed).contains("order.shipped order_1 v1"));
    assert!(!said(&listed).contains("user@example.com"), "{listed:?}");
    assert!(
        sends(&harness, &["refuse", &refused])
            .await
            .status
            .success()
    );
    for again in ["approve", "refuse", "cancel"] {
        let late = sends(&harness, &[again, &refused]).await;
        assert_eq!(late.status.code(), Some(1), "{again}");
        assert!(complained(&late).contains("cancelled"), "{late:?}");
    }
    assert_eq!(provider.requests(), 0);

    // Approved, and its outcome is unknown until the operator settles it.
    provider.lie([Lie::GarbageAfterAccepting, Lie::GarbageAfterAccepting]);
    let sent = order(&harness, &key, "order_2").await;
    let early = sends(&harness, &["settle", &sent, "retry"]).await;
    assert_eq!(early.status.code(), Some(1), "{early:?}");
    assert!(sends(&harness, &["approve", &sent]).await.status.success());
    until_state(&harness, &sent, "uncertain").await;
    let settle = ["settle", &sent, "sent", "--result", "found-by-hand"];
    let settled = sends(&harness, &settle).await;
    assert!(settled.status.success(), "{settled:?}");
    let shown = until_state(&harness, &sent, "sent").await;
    assert_eq!(shown["result"], "found-by-hand");
    let shown = sends(&harness, &["show", &sent]).await;
    for wanted in ["provider key  ml-", "provider      ses", "tries         1"] {
        assert!(said(&shown).contains(wanted), "{shown:?}");
    }
    assert!(!said(&shown).contains("on its way"), "{shown:?}");

    // A retry sends the same mail once more; abandoned, it is over.
    let retried = order(&harness, &key, "order_3").await;
    assert!(
        sends(&harness, &["approve", &retried])
            .await
            .status
            .success()
    );
    until_state(&harness, &retried, "uncertain").await;
    let settled = sends(&harness, &["settle", &retried, "retry"]).await;
    assert!(settled.status.success(), "{settled:?}");
    until_state(&harness, &retried, "sent").await;
    assert_eq!(provider.requests(), 3);

    let absent = sends(&harness, &["show", "snd_00000000000000000000000000000000"]).await;
    assert_eq!(absent.status.code(), Some(1), "{absent:?}");
    let unclear = sends(&harness, &["settle", &sent, "perhaps"]).await;
    assert_eq!(unclear.status.code(), Some(2), "{unclear:?}");
    harness.end().await;
}
