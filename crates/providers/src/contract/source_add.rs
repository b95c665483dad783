//! What `maillatch source add` asks the operator for.
//!
//! Each line has an example besides its placeholder, so that tests can fill in every
//! placeholder and start a server with what was printed.

use serde_json::{Map, Value};

use super::Contract;
use crate::settings::SourceSettings;

/// A line of a new source's settings. Keys may have dots (`poll.path`); values are
/// written so that they are valid as TOML and as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// `secrets`, with a secret that we mint, as Standard Webhooks writes it.
    MintSecret,
    /// `username` and `password`, minted, which also go into the webhook's URL.
    MintPassword,
    /// `url_token`, minted, which also goes into the webhook's URL.
    MintToken,
    /// A value that the operator copies from the provider.
    Paste {
        /// The setting.
        key: &'static str,
        /// What to paste, such as `the provider's secret`.
        what: &'static str,
        /// A value of the right form, for tests.
        example: &'static str,
        /// Whether the setting is a list of such values.
        is_list: bool,
    },
    /// The webhook's URL as the provider knows it.
    WebhookUrl(&'static str),
    /// A setting with a value that works as it is.
    Set(&'static str, &'static str),
}

/// Asks for the signing secret that the provider shows.
pub(crate) const PASTE_SECRET: Ask = Ask::Paste {
    key: "secrets",
    what: "the provider's signing secret",
    example: EXAMPLE_SECRET,
    is_list: true,
};

/// The secret of every example. It is a valid secret in every provider's form.
const EXAMPLE_SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
/// The password of every example.
const EXAMPLE_PASSWORD: &str = "an-example-password";

/// The values for the lines that are minted or depend on the server.
#[derive(Debug, Clone)]
pub struct Minted {
    /// A new secret, as Standard Webhooks writes it.
    pub secret: String,
    /// A new password, also used as token.
    pub password: String,
    /// The webhook's URL.
    pub webhook: String,
}

/// The name that goes with a minted password.
pub const USERNAME: &str = "maillatch";

impl Ask {
    /// The settings of this line: keys, and values as TOML.
    pub fn lines(&self, minted: &Minted) -> Vec<(&'static str, String)> {
        let quoted = |text: &str| format!("\"{text}\"");
        match *self {
            Self::MintSecret => vec![("secrets", format!("[\"{}\"]", minted.secret))],
            Self::MintPassword => vec![
                ("username", quoted(USERNAME)),
                ("password", quoted(&minted.password)),
            ],
            Self::MintToken => vec![("url_token", quoted(&minted.password))],
            Self::Paste {
                key, what, is_list, ..
            } => vec![(key, listed(&placeholder(what), is_list))],
            Self::WebhookUrl(key) => vec![(key, quoted(&minted.webhook))],
            Self::Set(key, value) => vec![(key, value.to_owned())],
        }
    }

    /// The placeholder that the operator replaces, and an example of what to replace it
    /// with.
    pub fn placeholder(&self) -> Option<(String, &'static str)> {
        match *self {
            Self::Paste { what, example, .. } => Some((placeholder(what), example)),
            _ => None,
        }
    }

    /// Whether it gives this source a secret or password with which we can sign a post.
    pub fn can_sign(&self) -> bool {
        match self {
            Self::MintSecret | Self::MintPassword => true,
            Self::Paste { key, .. } => *key == "secrets",
            Self::MintToken | Self::WebhookUrl(_) | Self::Set(..) => false,
        }
    }

    /// The same with an example in place of the placeholder.
    fn example(&self, minted: &Minted) -> Vec<(&'static str, String)> {
        match *self {
            Self::Paste {
                key,
                example,
                is_list,
                ..
            } => vec![(key, listed(example, is_list))],
            ref other => other.lines(minted),
        }
    }
}

fn placeholder(what: &str) -> String {
    format!("PASTE {}", what.to_uppercase())
}

fn listed(value: &str, is_list: bool) -> String {
    if is_list {
        format!("[\"{value}\"]")
    } else {
        format!("\"{value}\"")
    }
}

impl Contract {
    /// Settings that `source add` would print for this provider, filled in with
    /// examples: for tests, and for trying out a provider's format.
    pub fn example(&self) -> SourceSettings {
        let minted = Minted {
            secret: EXAMPLE_SECRET.to_owned(),
            password: EXAMPLE_PASSWORD.to_owned(),
            webhook: format!("https://mail.example.com/hooks/{}", self.source_name),
        };
        let mut settings = Map::new();
        settings.insert("provider".to_owned(), self.name.into());
        for (key, value) in self.asks.iter().flat_map(|ask| ask.example(&minted)) {
            set(&mut settings, key, &value);
        }
        serde_json::from_value(Value::Object(settings)).unwrap_or_default()
    }
}

/// Sets the value at a dotted key.
fn set(table: &mut Map<String, Value>, key: &str, value: &str) {
    let Some((outer, rest)) = key.split_once('.') else {
        let value = serde_json::from_str(value).unwrap_or(Value::Null);
        table.insert(key.to_owned(), value);
        return;
    };
    let inner = table
        .entry(outer)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(inner) = inner.as_object_mut() {
        set(inner, rest, value);
    }
}
