//! `attempt new`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pipeline::InboxId;
use serde_json::{Map, Value, json};

use super::{Done, Out};
use crate::client::Client;
use crate::config::Span;

/// Opens an attempt.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  read -r attempt address < <(maillatch attempt new --from example.com)
  maillatch attempt new --kind link --link '*.example.com' --token code --deadline 5m
  maillatch attempt new --to agent@inbox.test --reference signup-7 --json")]
pub(super) struct New {
    /// What to wait for.
    #[arg(long, value_enum, default_value = "code")]
    kind: Kind,
    /// A domain that the sender may have, it or one below; may be repeated.
    #[arg(long, value_name = "DOMAIN")]
    from: Vec<String>,
    /// Only mail whose sender is proven, by the provider or by DKIM.
    #[arg(long)]
    verified: bool,
    /// A host that a link may lead to: example.com or *.example.com; may be repeated.
    #[arg(long = "link", value_name = "HOST")]
    links: Vec<String>,
    /// Hand out this query parameter or fragment field in place of the link.
    #[arg(long, value_name = "FIELD")]
    token: Option<String>,
    /// How long to wait in all: 30s, 10m, 2h.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    deadline: Span,
    /// How often the sender may be asked for another mail.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    resends: u32,
    /// The inbox to wait on; a fresh address when left out.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<InboxId>,
    /// A word of your own; the same word means the same attempt.
    #[arg(long, value_name = "WORD")]
    reference: Option<String>,
    /// The configured callback that gets the value.
    #[arg(long, value_name = "NAME")]
    callback: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A one-time code.
    Code,
    /// A link.
    Link,
    /// Whichever comes; a code first.
    Either,
}

impl New {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let attempt = client.open_attempt(&self.wish()).await?;
        out.line(&format!("{} {}", attempt.id, attempt.inbox));
        out.object(&attempt.told);
        Ok(ExitCode::SUCCESS)
    }

    fn wish(self) -> Value {
        let kind = match self.kind {
            Kind::Code => "code",
            Kind::Link => "link",
            Kind::Either => "either",
        };
        let mut wish = Map::new();
        let mut say = |name: &str, value: Value| wish.insert(name.to_owned(), value);
        say("kind", json!(kind));
        say("from", json!(self.from));
        say("deadline", json!(self.deadline.0.as_secs()));
        say("resends", json!(self.resends));
        if !self.links.is_empty() {
            say("links", json!(self.links));
        }
        let words = [
            ("token", self.token),
            ("inbox", self.to.map(|inbox| inbox.to_string())),
            ("reference", self.reference),
            ("callback", self.callback),
            ("require", self.verified.then(|| "verified".to_owned())),
        ];
        for (name, word) in words {
            if let Some(word) = word {
                say(name, json!(word));
            }
        }
        Value::Object(wish)
    }
}
