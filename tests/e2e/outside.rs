//! Posts built from what the providers document and signed by code that is not ours: the
//! `standardwebhooks` crate of the specification's authors, and the `openssl` program. Each
//! becomes a code that an agent consumes.

mod batch;
mod openssl;
mod posts;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{Clock, SystemClock};
use serde_json::{Value, json};
use testkit::api::{Api, ok};
use url::form_urlencoded;

use crate::harness::Harness;
use openssl::{PrivateKey, hex_hmac, hmac};
use posts::Mail;

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBlbmQtdG8tZW5kIHRlc3Rz";
const LITERAL: &str = "a-signing-key-of-some-length";
const MANDRILL_URL: &str = "https://mail.example.com/hooks/mandrill";
const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:mail";
const CERTIFICATE: &str = "/SimpleNotificationService-0a1b2c.pem";
const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// The keys of the providers that have their own, and the server of the APIs.
struct Outside {
    api: Api,
    postal: PrivateKey,
    sendgrid: PrivateKey,
    amazon: PrivateKey,
}

/// One post to a source.
struct Post {
    /// The source and the query.
    to: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Post {
    fn new(to: &str, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            to: to.to_owned(),
            headers: vec![("content-type", kind.to_owned())],
            body: body.into(),
        }
    }

    fn json(to: &str, body: &Value) -> Self {
        Self::new(to, JSON, body.to_string())
    }

    fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Signed by the crate of the specification's authors, with these header names.
    fn by_standard_webhooks(self, names: [&'static str; 3]) -> Self {
        let (id, now) = (format!("msg_{}", self.to), seconds());
        let webhook = standardwebhooks::Webhook::new(SECRET).unwrap();
        let signature = webhook.sign(&id, now, &self.body).unwrap();
        let [id_name, time_name, signature_name] = names;
        self.with(id_name, id)
            .with(time_name, now.to_string())
            .with(signature_name, signature)
    }

    /// Signed over the body alone.
    fn by_hmac(self, name: &'static str, prefix: &str) -> Self {
        let signature = format!("{prefix}{}", hex_hmac(LITERAL, &self.body));
        self.with(name, signature)
    }
}

const STANDARD_NAMES: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];
const SVIX_NAMES: [&str; 3] = ["svix-id", "svix-timestamp", "svix-signature"];

fn seconds() -> i64 {
    SystemClock.now().as_seconds()
}

impl Outside {
    async fn start() -> Self {
        let (api, amazon) = (Api::start().await, PrivateKey::rsa());
        api.on(CERTIFICATE, vec![ok(amazon.certificate())]);
        Self {
            api,
            postal: PrivateKey::rsa(),
            sendgrid: PrivateKey::p256(),
            amazon,
        }
    }

    /// The sources, as an operator writes them.
    fn sources(&self) -> String {
        let api = &self.api.url;
        let shared = |name: &str, secret: &str| {
            format!("[source.{name}]\nprovider = \"{name}\"\nsecrets = [\"{secret}\"]\n")
        };
        let mapped = "payload = { recipients = \"message.to\", text = \"message.text\", \
            html = \"message.html\", from = \"message.from\", subject = \"message.subject\" }\n";
        let token = |name: &str| {
            format!("[source.{name}]\nprovider = \"{name}\"\nurl_token = \"a-long-token\"\n")
        };
        let key = |name: &str, key: &PrivateKey| {
            let public = key.public();
            format!("[source.{name}]\nprovider = \"{name}\"\npublic_key = \"{public}\"\n")
        };
        [
            shared("agentmail", SECRET),
            shared("cloudflare", SECRET),
            shared("relay", SECRET),
            shared("standard-webhooks", SECRET),
            shared("resend", SECRET),
            format!("api_key = \"the-key\"\napi_url = \"{api}\"\n"),
            shared("mailersend", LITERAL),
            shared("mailgun", LITERAL),
            shared("nylas", LITERAL),
            shared("mandrill", LITERAL),
            format!("url = \"{MANDRILL_URL}\"\n"),
            shared("github-style", LITERAL),
            mapped.to_owned(),
            shared("stripe-style", LITERAL),
            mapped.to_owned(),
            "scheme = { signature_header = \"Stripe-Signature\" }\n".to_owned(),
            shared("generic", LITERAL),
            mapped.to_owned(),
            "scheme = { signature_header = \"X-Signature\", timestamp_header = \"X-Timestamp\", \
             signed = \"{timestamp}.{body}\", prefix = \"v1=\" }\n"
                .to_owned(),
            token("cloudmailin"),
            token("postmark"),
            token("mailhook"),
            "recipient = \"mailhook@inbox.test\"\n".to_owned(),
            key("postal", &self.postal),
            key("sendgrid", &self.sendgrid),
            format!(
                "[source.ses-sns]\nprovider = \"ses-sns\"\ntopics = [\"{TOPIC}\"]\n\
                 sns_url = \"{api}\"\n"
            ),
        ]
        .concat()
    }

    /// The post of every source, with a mail to the inbox of the source's name.
    fn post(&self, source: &str, mail: Mail<'_>) -> Post {
        let native = || {
            let data = json!({ "recipients": [mail.inbox], "raw": STANDARD.encode(mail.raw()) });
            json!({ "type": "email.received", "data": data })
        };
        match source {
            "agentmail" => Post::json(source, &mail.agentmail()).by_standard_webhooks(SVIX_NAMES),
            "resend" => {
                let link = format!("{}/files/outside.eml", self.api.url);
                let answer = json!({ "object": "email", "id": "resend-outside",
                    "raw": { "download_url": link, "expires_at": "2026-11-16T10:00:00.000Z" } });
                let path = "/emails/receiving/resend-outside";
                self.api.on(path, vec![ok(answer.to_string())]);
                self.api.on("/files/outside.eml", vec![ok(mail.raw())]);
                Post::json(source, &mail.resend()).by_standard_webhooks(SVIX_NAMES)
            }
            "relay" => {
                let body = format!("X-Maillatch-Recipient: {}\r\n{}", mail.inbox, mail.raw());
                Post::new(source, "message/rfc822", body).by_standard_webhooks(STANDARD_NAMES)
            }
            "cloudflare" | "standard-webhooks" => {
                Post::json(source, &native()).by_standard_webhooks(STANDARD_NAMES)
            }
            "mailersend" => Post::json(source, &mail.mailersend()).by_hmac("signature", ""),
            "nylas" => Post::json(source, &mail.nylas()).by_hmac("x-nylas-signature", ""),
            "github-style" => {
                Post::json(source, &mail.fields()).by_hmac("x-hub-signature-256", "sha256=")
            }
            "stripe-style" | "generic" => timed(source, &mail.fields().to_string()),
            "mailgun" => mailgun(mail),
            "mandrill" => mandrill(&mail.mandrill().to_string()),
            "cloudmailin" => Post::json("cloudmailin?token=a-long-token", &mail.cloudmailin()),
            "postmark" => Post::json("postmark?token=a-long-token", &mail.postmark()),
            "mailhook" => Post::json("mailhook?token=a-long-token", &mail.mailhook()),
            "postal" => {
                let post = Post::json(source, &mail.postal());
                let signature = self.postal.sign("sha1", &post.body);
                post.with("x-postal-signature", signature)
            }
            "sendgrid" => {
                let text = format!("Your verification code is {}.\r\n", mail.code);
                self.sendgrid(mail, "utf-8", text.as_bytes())
            }
            "ses-sns" => self.sns(mail),
            other => panic!("no post for {other}"),
        }
    }

    fn sendgrid(&self, mail: Mail<'_>, charset: &str, text: &[u8]) -> Post {
        let mut body = Vec::new();
        for (name, value) in mail.sendgrid(charset, text) {
            let head =
                format!("--xYzZY\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend([head.as_bytes(), &value, b"\r\n"].concat());
        }
        body.extend_from_slice(b"--xYzZY--\r\n");
        let now = seconds().to_string();
        let signature = self
            .sendgrid
            .sign("sha256", &[now.as_bytes(), &body].concat());
        Post::new("sendgrid", "multipart/form-data; boundary=xYzZY", body)
            .with("x-twilio-email-event-webhook-timestamp", now)
            .with("x-twilio-email-event-webhook-signature", signature)
    }

    fn sns(&self, mail: Mail<'_>) -> Post {
        let message = mail.ses(&STANDARD.encode(mail.raw())).to_string();
        let (id, now) = ("22b80b92-outside", SystemClock.now().to_string());
        let subject = "Amazon SES Email Receipt Notification";
        let signed = format!(
            "Message\n{message}\nMessageId\n{id}\nSubject\n{subject}\nTimestamp\n{now}\n\
             TopicArn\n{TOPIC}\nType\nNotification\n"
        );
        let body = json!({
            "Type": "Notification", "MessageId": id, "TopicArn": TOPIC, "Subject": subject,
            "Message": message, "Timestamp": now, "SignatureVersion": "1",
            "Signature": self.amazon.sign("sha1", signed.as_bytes()),
            "SigningCertURL": format!("{}{CERTIFICATE}", self.api.url),
            "UnsubscribeURL": format!("{}/?Action=Unsubscribe", self.api.url),
        });
        Post::new("ses-sns", "text/plain; charset=UTF-8", body.to_string())
    }
}

/// A time and the body are signed.
fn timed(source: &str, body: &str) -> Post {
    let now = seconds();
    let mac = hex_hmac(LITERAL, format!("{now}.{body}").as_bytes());
    let post = Post::new(source, JSON, body);
    if source == "stripe-style" {
        post.with("stripe-signature", format!("t={now},v1={mac}"))
    } else {
        post.with("x-timestamp", now.to_string())
            .with("x-signature", format!("v1={mac}"))
    }
}

fn mailgun(mail: Mail<'_>) -> Post {
    let (now, token) = (seconds().to_string(), "a1b2c3d4e5".repeat(5));
    let signature = hex_hmac(LITERAL, format!("{now}{token}").as_bytes());
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(mail.mailgun())
        .extend_pairs([
            ("timestamp", now),
            ("token", token),
            ("signature", signature),
        ])
        .finish();
    Post::new("mailgun", FORM, body)
}

/// A post of Mandrill with these events.
fn mandrill(events: &str) -> Post {
    let signed = format!("{MANDRILL_URL}mandrill_events{events}");
    let signature = STANDARD.encode(hmac("sha1", LITERAL, signed.as_bytes()));
    let body = form_urlencoded::Serializer::new(String::new())
        .append_pair("mandrill_events", events)
        .finish();
    Post::new("mandrill", FORM, body).with("x-mandrill-signature", signature)
}

async fn send(harness: &Harness, post: &Post) {
    let headers: Vec<(&str, &str)> = post
        .headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let to = &harness.deployment;
    let answer = harness
        .client
        .post_to(to, &post.to, &headers, &post.body)
        .await
        .unwrap();
    assert_eq!(answer.status, 200, "{}: {answer:?}", post.to);
}

async fn consumed(harness: &Harness, inbox: &str) -> Value {
    let items = harness.until_items(inbox, 1).await;
    let id = items[0]["id"].as_str().unwrap();
    let consumed = harness.consume(id, 0, inbox).await;
    assert_eq!(consumed.status, 200, "{inbox}: {consumed:?} {}", items[0]);
    consumed.body["value"].clone()
}

/// The text of a mail in other charsets, as bytes: `Verification code: …` in Japanese, twice,
/// in Chinese and in Russian.
const CHARSETS: [(&str, &[u8], &str); 4] = [
    ("iso-2022-jp", b"\x1b$BG'>Z%3!<%I\x1b(B: 493817\r\n", "493817"),
    (
        "shift_jis",
        b"\x94F\x8f\xd8\x83R\x81[\x83h: 493818\r\n",
        "493818",
    ),
    (
        "gb2312",
        b"\xc4\xfa\xb5\xc4\xd1\xe9\xd6\xa4\xc2\xeb\xca\xc7 493819\r\n",
        "493819",
    ),
    (
        "koi8-r",
        b"\xf7\xc1\xdb \xcb\xcf\xc4 \xd0\xcf\xc4\xd4\xd7\xc5\xd2\xd6\xc4\xc5\xce\xc9\xd1: 493820\r\n",
        "493820",
    ),
];

async fn every_documented_post_becomes_a_consumable_code(outside: Outside, harness: Harness) {
    let posting = providers::contracts().filter(|contract| !contract.is_poll_only());
    let posting: Vec<&str> = posting.map(|contract| contract.name).collect();
    for (number, source) in posting.iter().enumerate() {
        let (inbox, code) = (
            format!("{source}@inbox.test"),
            (271_828 + number).to_string(),
        );
        let mail = Mail {
            inbox: &inbox,
            code: &code,
            at: seconds(),
        };
        send(&harness, &outside.post(source, mail)).await;
        assert_eq!(consumed(&harness, &inbox).await, code.as_str(), "{source}");
    }
    for (charset, text, code) in CHARSETS {
        let inbox = format!("{charset}@inbox.test");
        let mail = Mail {
            inbox: &inbox,
            code,
            at: seconds(),
        };
        send(&harness, &outside.sendgrid(mail, charset, text)).await;
        assert_eq!(consumed(&harness, &inbox).await, code, "{charset}");
    }
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_post_becomes_a_consumable_code_on_the_embedded_profile() {
    let outside = Outside::start().await;
    let harness = Harness::embedded_with(&outside.sources()).await;
    every_documented_post_becomes_a_consumable_code(outside, harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_post_becomes_a_consumable_code_on_the_full_profile() {
    let outside = Outside::start().await;
    let harness = Harness::full_with(&outside.sources()).await;
    every_documented_post_becomes_a_consumable_code(outside, harness).await;
}
