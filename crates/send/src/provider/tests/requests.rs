//! The exact request of each sender, as a provider receives it.

use serde_json::{Value, json};
use testkit::mail_provider::MailProvider;
use url::form_urlencoded;

use super::{hand_over, mail, sender};
use crate::mail::Answered;

/// The key of the first mail.
const KEY: &str = "ml-0101010101010101010101010101010101010101010101010101010101010101";
const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// One request that a provider received.
struct Request {
    head: String,
    body: String,
}

impl Request {
    /// The request by which a sender hands a mail over.
    async fn to_send(provider: &str) -> Self {
        let fake = MailProvider::start().await;
        hand_over(&sender(provider, &fake.url), 1).await;
        assert_eq!(fake.accepted_times(KEY), 1, "{provider}");
        let (_, body) = fake.bodies().remove(0);
        let head = fake.heads().remove(0);
        Self { head, body }
    }

    /// The request by which a sender looks a mail up.
    async fn to_look_up(provider: &str) -> Self {
        let fake = MailProvider::start().await;
        let (mail, key) = mail(1);
        let sender = sender(provider, &fake.url);
        let prepared = sender.transport.prepare(&mail);
        sender.transport.look_up(&prepared, &key).await;
        let (head, body) = (fake.heads().remove(0), String::new());
        Self { head, body }
    }

    /// Checks the method, the path and headers.
    fn expect(&self, line: &str, headers: &[(&str, &str)]) {
        let mut lines = self.head.lines();
        assert_eq!(lines.next(), Some(format!("{line} HTTP/1.1").as_str()));
        for (name, value) in headers {
            let wanted = format!("{name}: {value}");
            assert!(self.head.lines().any(|line| line == wanted), "{wanted}");
        }
    }

    /// Whether it has a header.
    fn has(&self, name: &str) -> bool {
        let start = format!("{name}: ");
        self.head.lines().any(|line| line.starts_with(&start))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The headers of a mail that answers nothing.
fn own_headers() -> Value {
    json!({"Auto-Submitted": "auto-generated", "X-Maillatch-Send": KEY})
}

#[tokio::test]
async fn resend_gets_json_with_a_bearer_token_and_a_key() {
    let request = Request::to_send("resend").await;
    let bearer = ("authorization", "Bearer key");
    request.expect("POST /emails", &[bearer, JSON, ("idempotency-key", KEY)]);
    let expected = json!({
        "from": "Shop <shop@mail.example.com>",
        "to": ["user@example.com"],
        "subject": "Größe",
        "text": "One\r\n.\r\n..two\r\n",
        "html": "<p>One</p>",
        "headers": own_headers(),
        "tags": [{"name": "maillatch", "value": KEY}],
    });
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn agentmail_gets_json_with_a_bearer_token_and_a_key() {
    let request = Request::to_send("agentmail").await;
    let bearer = ("authorization", "Bearer key");
    request.expect(
        "POST /v0/inboxes/shop@mail.example.com/messages/send",
        &[bearer, JSON, ("idempotency-key", KEY)],
    );
    let expected = json!({
        "to": ["user@example.com"],
        "subject": "Größe",
        "text": "One\r\n.\r\n..two\r\n",
        "html": "<p>One</p>",
        "headers": own_headers(),
        "labels": [KEY],
    });
    assert_eq!(request.json(), expected);
    let list = format!("GET /v0/inboxes/shop@mail.example.com/messages?limit=1&labels={KEY}");
    let request = Request::to_look_up("agentmail").await;
    request.expect(&list, &[bearer]);
}

#[tokio::test]
async fn postmark_gets_json_with_its_token_and_no_key() {
    let request = Request::to_send("postmark").await;
    let token = ("x-postmark-server-token", "key");
    request.expect("POST /email", &[token, JSON]);
    assert!(!request.has("idempotency-key"));
    let message_id = "<ml.01010101010101010101010101010101@mail.example.com>";
    let expected = json!({
        "From": "Shop <shop@mail.example.com>",
        "To": "user@example.com",
        "Subject": "Größe",
        "TextBody": "One\r\n.\r\n..two\r\n",
        "HtmlBody": "<p>One</p>",
        "Headers": [
            {"Name": "Auto-Submitted", "Value": "auto-generated"},
            {"Name": "X-Maillatch-Send", "Value": KEY},
            {"Name": "Message-ID", "Value": message_id},
            {"Name": "X-PM-KeepID", "Value": "true"},
        ],
        "Tag": KEY,
        "MessageStream": "outbound",
        "TrackOpens": false,
        "TrackLinks": "None",
    });
    assert_eq!(request.json(), expected);
    let list = format!("GET /messages/outbound?count=1&offset=0&tag={KEY}");
    Request::to_look_up("postmark")
        .await
        .expect(&list, &[token]);
}

#[tokio::test]
async fn mailgun_gets_a_form_with_a_password_and_no_key() {
    let request = Request::to_send("mailgun").await;
    // The user `api` and the password `key`.
    let password = ("authorization", "Basic YXBpOmtleQ==");
    request.expect("POST /v3/mail.example.com/messages", &[password, FORM]);
    assert!(!request.has("idempotency-key"));
    let message_id = "<ml.01010101010101010101010101010101@mail.example.com>";
    let expected = [
        ("from", "Shop <shop@mail.example.com>"),
        ("to", "user@example.com"),
        ("subject", "Größe"),
        ("text", "One\r\n.\r\n..two\r\n"),
        ("html", "<p>One</p>"),
        ("h:Auto-Submitted", "auto-generated"),
        ("h:X-Maillatch-Send", KEY),
        ("h:Message-Id", message_id),
        ("v:maillatch", KEY),
        ("o:tracking", "no"),
    ];
    let fields: Vec<_> = form_urlencoded::parse(request.body.as_bytes()).collect();
    assert_eq!(
        fields,
        expected.map(|(name, value)| (name.into(), value.into()))
    );
    Request::to_look_up("mailgun").await.expect(
        "GET /v3/mail.example.com/events?event=accepted&ascending=no&limit=1\
         &message-id=ml.01010101010101010101010101010101%40mail.example.com",
        &[password],
    );
}

#[tokio::test]
async fn sendgrid_gets_json_with_a_bearer_token_and_no_key() {
    let request = Request::to_send("sendgrid").await;
    let bearer = ("authorization", "Bearer key");
    request.expect("POST /v3/mail/send", &[bearer, JSON]);
    assert!(!request.has("idempotency-key"));
    let expected = json!({
        "personalizations": [{"to": [{"email": "user@example.com"}]}],
        "from": {"email": "shop@mail.example.com", "name": "Shop"},
        "subject": "Größe",
        "content": [
            {"type": "text/plain", "value": "One\r\n.\r\n..two\r\n"},
            {"type": "text/html", "value": "<p>One</p>"},
        ],
        "headers": own_headers(),
        "custom_args": {"maillatch": KEY},
        "tracking_settings": {
            "click_tracking": {"enable": false, "enable_text": false},
            "open_tracking": {"enable": false},
            "subscription_tracking": {"enable": false},
        },
    });
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn nylas_gets_json_with_a_bearer_token_and_a_key() {
    let request = Request::to_send("nylas").await;
    let bearer = ("authorization", "Bearer key");
    request.expect(
        "POST /v3/grants/grant-1/messages/send",
        &[bearer, JSON, ("idempotency-key", KEY)],
    );
    let expected = json!({
        "from": [{"email": "shop@mail.example.com", "name": "Shop"}],
        "to": [{"email": "user@example.com"}],
        "subject": "Größe",
        "body": "<p>One</p>",
        "is_plaintext": false,
        "custom_headers": [
            {"name": "Auto-Submitted", "value": "auto-generated"},
            {"name": "X-Maillatch-Send", "value": KEY},
        ],
    });
    assert_eq!(request.json(), expected);
    Request::to_look_up("nylas").await.expect(
        "GET /v3/grants/grant-1/messages?fields=include_headers&limit=20&to=user%40example.com",
        &[bearer],
    );
}

#[tokio::test]
async fn brevo_gets_json_with_its_key_in_a_header_and_ours_in_the_body() {
    let request = Request::to_send("brevo").await;
    let key = ("api-key", "key");
    request.expect("POST /v3/smtp/email", &[key, JSON]);
    assert!(!request.has("idempotency-key"));
    let mut headers = own_headers();
    headers["idempotencyKey"] = json!("01010101-0101-8101-8101-010101010101");
    let expected = json!({
        "sender": {"email": "shop@mail.example.com", "name": "Shop"},
        "to": [{"email": "user@example.com"}],
        "subject": "Größe",
        "textContent": "One\r\n.\r\n..two\r\n",
        "htmlContent": "<p>One</p>",
        "headers": headers,
        "tags": [KEY],
    });
    assert_eq!(request.json(), expected);
    let list = format!("GET /v3/smtp/statistics/events?limit=10&tags=%5B%22{KEY}%22%5D");
    Request::to_look_up("brevo").await.expect(&list, &[key]);
}

#[tokio::test]
async fn sparkpost_gets_json_with_its_key_alone_and_ours_in_a_header() {
    let request = Request::to_send("sparkpost").await;
    let key = ("authorization", "key");
    request.expect(
        "POST /api/v1/transmissions",
        &[key, JSON, ("idempotency-key", KEY)],
    );
    let expected = json!({
        "options": {"transactional": true, "open_tracking": false, "click_tracking": false},
        "recipients": [{"address": {"email": "user@example.com"}}],
        "metadata": {"maillatch": KEY},
        "content": {
            "from": {"email": "shop@mail.example.com", "name": "Shop"},
            "subject": "Größe",
            "text": "One\r\n.\r\n..two\r\n",
            "html": "<p>One</p>",
            "headers": own_headers(),
        },
    });
    assert_eq!(request.json(), expected);
    Request::to_look_up("sparkpost").await.expect(
        "GET /api/v1/events/message?events=injection&per_page=100&recipients=user%40example.com",
        &[key],
    );
}

/// What a stranger wrote into a subject or an id is no template of the provider.
#[test]
fn templates_of_the_provider_are_taken_apart() {
    for provider in ["brevo", "sparkpost"] {
        let (mut mail, _) = mail(1);
        mail.subject = "Re: {{contact.EMAIL}}".to_owned();
        mail.text = "{% if a %}".to_owned();
        mail.html = Some("<p>{{a}}</p>".to_owned());
        mail.answers = Some(Answered {
            message_id: Some("<{{contact.EMAIL}}@x>".to_owned()),
            references: vec!["<{% if a %}@x>".to_owned(), "<p1@x>".to_owned()],
        });
        let sender = sender(provider, "http://127.0.0.1:1");
        let body = sender.transport.prepare(&mail).body;
        for tag in ["{{", "{%", "%}"] {
            assert!(!body.contains(tag), "{provider}: {body}");
        }
    }
}

/// The other headers stay.
#[test]
fn header_with_an_id_that_looks_like_a_variable_is_left_out() {
    for provider in ["brevo", "sparkpost"] {
        let (mut mail, _) = mail(1);
        mail.answers = Some(Answered {
            message_id: Some("<p1@x>".to_owned()),
            references: vec!["<{{maillatch}}@x>".to_owned(), "<p1@x>".to_owned()],
        });
        let sender = sender(provider, "http://127.0.0.1:1");
        let body = sender.transport.prepare(&mail).body;
        let is_kept = body.contains("<p1@x>") && body.contains(KEY);
        assert!(is_kept && !body.contains("{{"), "{provider}: {body}");
    }
}
