//! Refuses values that must be replaced: placeholders of our templates, and secrets
//! that everybody can read in documents.

use anyhow::{Result, bail};
use providers::{Ask, contracts};
use toml::{Table, Value};

/// How the placeholders begin that `source add` and the templates print.
const BEGINNING: &str = "PASTE";
/// The host that `source add` prints without --url.
const HOST: &str = "YOUR-HOST.example";

/// Secrets of public documents: of Standard Webhooks, and of the examples of other
/// providers. Every reader of these documents can sign.
const PUBLISHED: [&str; 3] = [
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_plJ3nmyCDGBKInavdOK15jsl",
];

/// Settings that hold a secret.
const SECRETS: [&str; 8] = [
    "secret",
    "secrets",
    "password",
    "url_token",
    "token",
    "api_key",
    "access_key",
    "secret_key",
];

/// Fails with the name of a setting whose value is a placeholder or a published secret.
pub(super) fn refuse(settings: &Table) -> Result<()> {
    for (key, value) in settings {
        refuse_in(key, key, value)?;
    }
    Ok(())
}

/// `path` names the setting in the error; `key` is its last part, also inside of a list.
fn refuse_in(path: &str, key: &str, value: &Value) -> Result<()> {
    match value {
        Value::Table(table) => table
            .iter()
            .try_for_each(|(key, value)| refuse_in(&format!("{path}.{key}"), key, value)),
        Value::Array(list) => list.iter().try_for_each(|one| refuse_in(path, key, one)),
        Value::String(text) => refuse_text(path, key, text),
        _ => Ok(()),
    }
}

fn refuse_text(path: &str, key: &str, text: &str) -> Result<()> {
    let is_secret = SECRETS.contains(&key);
    if text.trim_start().starts_with(BEGINNING) {
        bail!("{path} still has its placeholder `{text}`; replace it with the real value");
    }
    if text.contains(HOST) {
        bail!("{path} still has the placeholder {HOST}; replace it with your server's host name");
    }
    if is_secret && text.contains('…') {
        bail!(
            "{path} has a value of the documents, with `…` in it; replace it with the real value"
        );
    }
    if is_secret && (PUBLISHED.contains(&text) || is_example(text)) {
        bail!(
            "{path} is a secret that is published in documents, so anybody can sign with it; \
             replace it with the real one, or with a new one of: maillatch source add PROVIDER"
        );
    }
    Ok(())
}

/// Whether it is an example of a value that `source add` asks for.
fn is_example(text: &str) -> bool {
    let mut asks = contracts().flat_map(|contract| contract.asks);
    asks.any(|ask| Ask::placeholder(ask).is_some_and(|(_, example)| example == text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        let table: Table = text.parse().unwrap();
        refuse(&table).err().map(|error| error.to_string())
    }

    #[test]
    fn placeholders_and_published_secrets_are_refused_by_the_name_of_the_setting() {
        for (text, path) in [
            (
                "source.a.secrets = [\"PASTE THE PROVIDER'S SIGNING SECRET\"]",
                "source.a.secrets",
            ),
            (
                "source.a.secrets = [{ secret = \"PASTE IT\", not_after = \"2027-01-01\" }]",
                "source.a.secrets.secret",
            ),
            (
                "source.a.domains = [\"PASTE THE DOMAIN\"]",
                "source.a.domains",
            ),
            (
                "inbox.mint_domain = \"PASTE YOUR DOMAIN\"",
                "inbox.mint_domain",
            ),
            (
                "source.a.url = \"https://YOUR-HOST.example/hooks/a\"",
                "source.a.url",
            ),
            ("key.a.token = \"mlk_…\"", "key.a.token"),
            (
                "source.a.secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]",
                "source.a.secrets",
            ),
            ("source.a.api_key = \"an-example-key\"", "source.a.api_key"),
            (
                "source.a.poll.password = \"an-example-password\"",
                "source.a.poll.password",
            ),
        ] {
            let why = refused(text).unwrap_or_else(|| panic!("{text}"));
            assert!(why.starts_with(path), "{text}: {why}");
        }
    }

    #[test]
    fn published_secret_is_not_repeated_in_the_error() {
        let why = refused("source.a.secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]");
        assert!(!why.unwrap().contains("MfKQ"));
    }

    #[test]
    fn real_values_are_accepted() {
        let real = "source.a.secrets = [\"whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs\"]\n\
                    source.a.poll.path = \"/var/mail/agent\"\n\
                    inbox.mint_domain = \"pasted.dev\"\n";
        assert_eq!(refused(real), None);
        assert_eq!(refused(super::super::layers::DEFAULTS), None);
    }
}
