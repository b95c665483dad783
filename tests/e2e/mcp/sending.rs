//! The tools that send mail: who has them, and that a repeated call sends nothing twice.

use maillatch::deployment::Role;
use serde_json::{Value, json};
use testkit::mail_provider::MailProvider;
use testkit::wait;

use super::session::{CARRIERS, Carrier, STATELESS, Session};
use super::{TOOLS, fresh, start, text};
use crate::harness::{Harness, payload};

const SETTINGS: &str = "send.timeout = \"2s\"\nsend.every = \"50ms\"\n\
    templates.shipped.subject = \"Order {{order}}\"\n\
    templates.shipped.text = \"Order {{order}} is on its way.\\n\"\n\
    templates.shipped.values.order.type = \"id\"\n";

/// A deployment with a sender, and an agent for each set of scopes.
struct Office {
    harness: Harness,
    provider: MailProvider,
    keys: Vec<String>,
}

/// The scopes of the agents, and the tools that they have besides the six.
const AGENTS: [(&str, &[&str]); 3] = [
    ("\"attempt\", \"feed\", \"consume\"", &[]),
    (
        "\"attempt\", \"feed\", \"consume\", \"send\", \"reply\"",
        &["send_mail", "reply", "send_status"],
    ),
    ("\"reply\", \"feed\"", &["reply", "send_status"]),
];
/// The agent with all tools.
const MAILER: usize = 1;

impl Office {
    async fn open(is_full: bool) -> Self {
        let provider = MailProvider::start().await;
        let keys: Vec<String> = AGENTS.iter().map(|_| feed::Keys::mint()).collect();
        let mut settings = format!(
            "{SETTINGS}senders.shop = {{ provider = \"resend\", api_url = \"{}\", \
             api_key = \"key\", from = \"Shop <shop@mail.example.com>\", \
             recipients = [\"@example.com\"] }}\n",
            provider.url
        );
        for (number, ((scopes, _), token)) in AGENTS.iter().zip(&keys).enumerate() {
            let key = format!(
                "key.agent-{number} = {{ token = \"{token}\", inboxes = [], \
                 scopes = [{scopes}] }}\n"
            );
            settings.push_str(&key);
        }
        let harness = if is_full {
            Harness::full_with(&settings).await
        } else {
            Harness::embedded_with(&settings).await
        };
        Self {
            harness,
            provider,
            keys,
        }
    }

    async fn session(&self, carrier: Carrier, agent: usize) -> Session {
        let url = self.harness.deployment.url(Role::Feed, 0).unwrap();
        let agent = (url.to_string(), self.keys[agent].clone());
        Session::begin(carrier, agent, STATELESS).await
    }
}

async fn names(session: &Session) -> Vec<String> {
    let answer = session.ask("tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| text(&tool["name"]).to_owned()).collect()
}

fn mail(entity: &str, order: &str) -> Value {
    json!({
        "sender": "shop", "purpose": "order.shipped", "entity": entity,
        "to": "user@example.com", "template": "shipped", "values": { "order": order },
    })
}

async fn send_tools_exist_for_the_scopes_of_the_key(office: &Office) {
    for carrier in CARRIERS {
        for (agent, (scopes, own)) in AGENTS.iter().enumerate() {
            let session = office.session(carrier, agent).await;
            let wanted: Vec<&str> = TOOLS.iter().chain(*own).copied().collect();
            assert_eq!(names(&session).await, wanted, "{carrier:?} {scopes}");
        }
        // A call of a tool that is not listed is refused by the server.
        let session = office.session(carrier, 0).await;
        let refused = session.call("send_mail", mail(&fresh(), "1")).await;
        assert_eq!(refused["status"], "forbidden", "{refused}");
    }
    assert!(office.provider.accepted().is_empty());
}

async fn repeated_and_reworded_calls_send_one_mail(office: &Office) {
    for carrier in CARRIERS {
        let before = office.provider.accepted().len();
        let session = office.session(carrier, MAILER).await;
        let entity = fresh();
        let first = session.call("send_mail", mail(&entity, "4821")).await;
        let id = json!({ "send_id": first["send_id"] });
        let sent = session.call("send_status", id).await;
        assert_eq!(sent["status"], "sent", "{first} {sent}");
        let again = session.call("send_mail", mail(&entity, "4821")).await;
        let reworded = session.call("send_mail", mail(&entity, "9999")).await;
        for (answer, is_same) in [(&again, true), (&reworded, false)] {
            assert_eq!(answer["send_id"], first["send_id"], "{answer}");
            assert_eq!(answer["duplicate"], true, "{answer}");
            assert_eq!(answer["same_content"], is_same, "{answer}");
        }
        let mut foreign = mail(&entity, "4821");
        foreign["to"] = json!("user@elsewhere.test");
        let refused = session.call("send_mail", foreign).await;
        assert_eq!(refused["status"], "recipient_not_allowed", "{refused}");
        assert_eq!(office.provider.accepted().len(), before + 1);
    }
}

async fn message_is_answered_once(office: &Office) {
    for carrier in CARRIERS {
        let before = office.provider.accepted().len();
        let session = office.session(carrier, MAILER).await;
        let started = start(&session, json!({})).await;
        let id = fresh();
        let question = format!(
            "From: user@example.com\r\nMessage-ID: <{id}@example.com>\r\n\
             Subject: Where is it?\r\n\r\nWhere is my order?\r\n"
        );
        let body = payload(text(&started["address"]), question.as_bytes());
        office.harness.post_until_accepted(0, &id, &body).await;
        let message = wait::until("the message", async || {
            let explain = json!({ "attempt_id": started["attempt_id"] });
            let explained = session.call("explain_attempt", explain).await;
            explained["message_id"].as_str().map(str::to_owned)
        })
        .await;
        let reply = |order: &str| json!({ "message_id": message, "template": "shipped", "values": { "order": order } });
        let first = session.call("reply", reply("4821")).await;
        let again = session.call("reply", reply("7")).await;
        assert_eq!(again["send_id"], first["send_id"], "{first}");
        assert_eq!(again["same_content"], false, "{again}");
        let status = json!({ "send_id": first["send_id"] });
        let sent = session.call("send_status", status).await;
        assert_eq!(sent["status"], "sent", "{sent}");
        assert_eq!(office.provider.accepted().len(), before + 1);
    }
}

async fn all(is_full: bool) {
    let office = Office::open(is_full).await;
    send_tools_exist_for_the_scopes_of_the_key(&office).await;
    repeated_and_reworded_calls_send_one_mail(&office).await;
    message_is_answered_once(&office).await;
    office.harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn send_tools_send_each_intent_once_embedded() {
    all(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn send_tools_send_each_intent_once_full() {
    all(true).await;
}
