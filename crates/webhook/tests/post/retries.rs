//! What each provider does with our answers, played through the real server: whenever a mail
//! was not stored, its provider sends it again, and then it is stored.

use std::time::Duration;

use pipeline::Timestamp;
use providers::{Sample, contract};
use testkit::postal;
use testkit::sns::Sns;
use webhook::Settings;

use crate::harness::{NOW, Server, Setup, with_headers};

/// What a provider does after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Delivered,
    SentAgain,
    GivenUp,
}

/// The rule of a provider for a status that is not a success.
type Rule = fn(u16) -> bool;

/// Which statuses each provider sends a mail again after. The evidence is in the provider's
/// file in `crates/providers/src/provider`.
const RULES: [(&str, Rule); 11] = [
    // `http_sender.rb` of Postal: 5xx is a soft failure; 429 is a hard failure without a bounce
    // and everything else a hard failure with one.
    ("postal", |status| (500..600).contains(&status)),
    // SNS: a 4xx is a permanent failure.
    ("ses-sns", |status| (500..600).contains(&status)),
    // SendGrid: only 5xx is retried.
    ("sendgrid", |status| (500..600).contains(&status)),
    // Mailgun: every status but 200 and 406.
    ("mailgun", |status| status != 406),
    // Postmark: every status but 200 and 403.
    ("postmark", |status| status != 403),
    // CloudMailin: a 4xx rejects the mail, a 5xx delays it.
    ("cloudmailin", |status| (500..600).contains(&status)),
    // Svix delivers for Resend and AgentMail: every status but 2xx.
    ("resend", |_| true),
    ("agentmail", |_| true),
    // Mandrill and MailerSend: every status but 2xx.
    ("mandrill", |_| true),
    ("mailersend", |_| true),
    // Nylas: these statuses only.
    ("nylas", |status| {
        [408, 429, 502, 503, 504, 507].contains(&status)
    }),
];

fn next(is_retried: Rule, status: u16) -> Next {
    match status {
        200..300 => Next::Delivered,
        _ if is_retried(status) => Next::SentAgain,
        _ => Next::GivenUp,
    }
}

/// Why a post is not stored.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// Its secret is not ours, or ours is wrong.
    Unproven,
    Compressed,
    Untyped,
    Slow,
    TooLarge,
    DatabaseAway,
}

const TROUBLES: [Trouble; 6] = [
    Trouble::Unproven,
    Trouble::Compressed,
    Trouble::Untyped,
    Trouble::Slow,
    Trouble::TooLarge,
    Trouble::DatabaseAway,
];

/// A correctly signed post: where to, its headers and its body.
struct Signed {
    to: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Signed {
    fn by(server: &Server, provider: &str) -> Self {
        let at = Timestamp::from_millis(NOW * 1000);
        let plain = |headers: &[(&str, &str)], body: String| Self {
            to: provider.to_owned(),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: body.into_bytes(),
        };
        match provider {
            "postal" => {
                let body = postal::mail(1, "agent@inbox.test", b"Subject: x\r\n\r\ny");
                let signature = postal::signature(body.as_bytes());
                let signed = ("x-postal-signature", signature.as_str());
                plain(&[("content-type", "application/json"), signed], body)
            }
            "ses-sns" => {
                let sns = Sns::at("https://sns.eu-west-1.amazonaws.com");
                let body = sns.mail("m-1", "agent@inbox.test", b"raw", at);
                plain(&[("content-type", "text/plain; charset=UTF-8")], body)
            }
            _ => {
                let source = server.sources.get(provider).expect("the source");
                let sample = Sample {
                    id: "sample1",
                    at,
                    from: "shop@sender.test",
                    recipient: "agent@inbox.test",
                    subject: "Your code",
                    text: "Your code is 493817.",
                };
                let post = source.sample(&sample).expect("a sample");
                let query = post.query.map(|query| format!("?{query}"));
                Self {
                    to: format!("{provider}{}", query.unwrap_or_default()),
                    headers: post.headers,
                    body: post.body,
                }
            }
        }
    }

    /// The request with this trouble.
    fn request(&self, trouble: Option<Trouble>) -> Vec<u8> {
        let is_kept = |name: &str| {
            let is_type = name.eq_ignore_ascii_case("content-type");
            !(is_type && matches!(trouble, Some(Trouble::Untyped)))
        };
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
        let mut headers: Vec<(&str, &str)> = headers.filter(|(name, _)| is_kept(name)).collect();
        match trouble {
            Some(Trouble::Compressed) => headers.push(("content-encoding", "gzip")),
            Some(Trouble::Unproven) => return self.forged(&headers),
            _ => {}
        }
        let mut request = with_headers(&self.to, &headers, &self.body);
        if matches!(trouble, Some(Trouble::Slow)) {
            request.pop();
        }
        request
    }

    /// The same post as somebody without the secret would send it.
    fn forged(&self, headers: &[(&str, &str)]) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.body);
        let other = text
            .replace("token=", "token=x")
            .replace("inbox.test", "inbox.tesT");
        assert_ne!(other, text, "{}", self.to);
        let to = self.to.replace("token=", "token=x");
        with_headers(&to, headers, other.as_bytes())
    }
}

async fn server_in(trouble: Trouble) -> Server {
    let settings = match trouble {
        Trouble::Slow => Settings {
            body_timeout: Duration::from_millis(50),
            ..Settings::default()
        },
        Trouble::TooLarge => Settings {
            body_limit: 8,
            ..Settings::default()
        },
        _ => Settings::default(),
    };
    let server = Server::start_with(Setup {
        settings,
        ..Setup::default()
    })
    .await;
    if matches!(trouble, Trouble::DatabaseAway) {
        server.store.close().await;
    }
    server
}

#[tokio::test]
async fn mail_that_was_not_stored_is_sent_again_by_every_provider_and_then_stored() {
    let healthy = Server::start().await;
    for trouble in TROUBLES {
        let troubled = server_in(trouble).await;
        for (provider, is_retried) in RULES {
            let post = Signed::by(&troubled, provider);
            let answer = troubled.exchange(&post.request(Some(trouble))).await;
            let after = next(is_retried, answer.status);
            assert_eq!(after, Next::SentAgain, "{provider} {trouble:?} {answer:?}");
        }
        if !matches!(trouble, Trouble::DatabaseAway) {
            assert_eq!(troubled.rows().await, 0, "{trouble:?}");
        }
    }
    // What is sent again is stored.
    for (rows, (provider, is_retried)) in (1..).zip(RULES) {
        let post = Signed::by(&healthy, provider);
        let answer = healthy.exchange(&post.request(None)).await;
        let after = next(is_retried, answer.status);
        assert_eq!(after, Next::Delivered, "{provider} {answer:?}");
        assert_eq!(healthy.rows().await, rows, "{provider}");
    }
}

/// The rules themselves: what each provider would give up on.
#[test]
fn each_rule_gives_up_on_the_statuses_that_its_provider_does() {
    let gives_up = |provider: &str, status: u16| {
        let rule = RULES.iter().find(|(name, _)| *name == provider);
        next(rule.expect("a rule").1, status) == Next::GivenUp
    };
    for status in [400, 401, 403, 408, 413, 415, 429] {
        for provider in ["postal", "ses-sns", "sendgrid", "cloudmailin"] {
            assert!(gives_up(provider, status), "{provider} {status}");
        }
    }
    assert!(gives_up("mailgun", 406) && gives_up("postmark", 403) && gives_up("nylas", 401));
    for (provider, _) in RULES {
        assert!(contract(provider).is_some(), "{provider}");
        assert!(!gives_up(provider, 503), "{provider}");
    }
}
