//! The source that a run is about: `PROVIDER` names it.

use std::collections::BTreeMap;

use providers::{PollSettings, SchemeSettings, Source, SourceSettings, Sources};
use secrecy::SecretString;

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const SENDGRID_KEY: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWj\
    cMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA==";
const POSTAL_KEY: &str = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDPuBAPwo/5rvjspa9Z5iJxzWTfH50Y8UsFsegr2y6cLf13mIuYTNY7MyzNlBx1FEIcTLjESRbky4vXjjIczOZ0OuhfF6sIq0su2nNpskXh6ryC7GS+A/11/eVzqQYUP5HoCxW/OBrK5z7KEtrsrhbfRFAGmEBR7u7PRoT159aMdwIDAQAB";

/// The provider that `PROVIDER` names, or Standard Webhooks.
pub fn provider() -> String {
    std::env::var("PROVIDER").unwrap_or_else(|_| "standard-webhooks".to_owned())
}

/// A source of the provider that `PROVIDER` names.
pub fn source() -> &'static Source {
    let provider = provider();
    let mut settings = SourceSettings {
        provider: provider.clone(),
        ..SourceSettings::default()
    };
    match provider.as_str() {
        "postmark" | "cloudmailin" => settings.url_token = Some("a-long-token".into()),
        "mailhook" => {
            settings.url_token = Some("a-long-token".into());
            settings.recipient = Some("x@y.test".to_owned());
        }
        "postal" => settings.public_key = Some(POSTAL_KEY.to_owned()),
        "sendgrid" => settings.public_key = Some(SENDGRID_KEY.to_owned()),
        "folder" | "http-list" | "imap" => settings.poll = Some(PollSettings::default()),
        "ses-sns" => settings.topics = vec!["arn:aws:sns:eu-west-1:1:mail".to_owned()],
        _ => settings.secrets = vec![SecretString::from(SECRET).into()],
    }
    match provider.as_str() {
        "mandrill" => settings.url = Some("https://example.com".to_owned()),
        "generic" | "stripe-style" => {
            settings.scheme = Some(SchemeSettings {
                signature_header: Some("x-signature".to_owned()),
                ..SchemeSettings::default()
            });
        }
        _ => {}
    }
    let sources = Sources::build(BTreeMap::from([("main".to_owned(), settings)]));
    let sources: &'static Sources = Box::leak(Box::new(sources.expect("a source")));
    sources.get("main").expect("the source")
}
