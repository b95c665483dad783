//! `attempt new`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pipeline::{CodeForm, InboxId};
use serde_json::{Map, Value, json};

use super::{Done, Out};
use crate::config::Span;
use client::Client;

/// Opens an attempt.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  read -r attempt address < <(maillatch attempt new --from example.com)
  maillatch attempt new --kind link --link '*.example.com' --token code --deadline 5m
  maillatch attempt new --from example.com --expect digits:6
  maillatch attempt new --to agent@inbox.test --reference signup-7 --json")]
pub(super) struct New {
    /// What to wait for.
    #[arg(long, value_enum, default_value = "code")]
    kind: Kind,
    /// A domain that the mail must come from, or a subdomain of it; may be repeated.
    #[arg(long, value_name = "DOMAIN")]
    from: Vec<String>,
    /// Accept only mail whose sender is proven, by the provider or by DKIM.
    #[arg(long)]
    verified: bool,
    /// A host that the link may lead to: example.com or *.example.com; may be repeated.
    #[arg(long = "link", value_name = "HOST")]
    links: Vec<String>,
    /// Return this query parameter or fragment field instead of the link.
    #[arg(long, value_name = "FIELD")]
    token: Option<String>,
    /// The form of the code, if it is known: digits:6, letters:8 or characters:10.
    #[arg(long, value_name = "FORM")]
    expect: Option<CodeForm>,
    /// How long the attempt stays open: 30s, 10m, 2h.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    deadline: Span,
    /// How many resends may be requested.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    resends: u32,
    /// The inbox to wait on; by default a fresh address.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<InboxId>,
    /// Also take the newest value that arrived before and belongs to no attempt, or to one of
    /// yours that has ended; needs --to.
    #[arg(long, requires = "to", conflicts_with_all = ["links", "token", "expect"])]
    earlier: bool,
    /// Your name for the attempt; the same name returns the same attempt.
    #[arg(long, value_name = "WORD")]
    reference: Option<String>,
    /// The configured callback that receives the value.
    #[arg(long, value_name = "NAME")]
    callback: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A one-time code.
    Code,
    /// A link.
    Link,
    /// Either of them; a code is preferred.
    Either,
}

impl New {
    pub(super) async fn run(self, client: &Client, out: &Out) -> Done {
        let attempt = client.open_attempt(&self.request()).await?;
        out.line(&format!("{} {}", attempt.id, attempt.inbox));
        out.object(&attempt.body);
        Ok(ExitCode::SUCCESS)
    }

    fn request(self) -> Value {
        let kind = match self.kind {
            Kind::Code => "code",
            Kind::Link => "link",
            Kind::Either => "either",
        };
        let mut request = Map::new();
        let mut set = |name: &str, value: Value| request.insert(name.to_owned(), value);
        set("kind", json!(kind));
        set("from", json!(self.from));
        set("deadline", json!(self.deadline.0.as_secs()));
        set("resends", json!(self.resends));
        if !self.links.is_empty() {
            set("links", json!(self.links));
        }
        if let Some(form) = self.expect {
            set("expect", json!({ form.characters(): form.length() }));
        }
        if self.earlier {
            set("earlier", json!(true));
        }
        let optional = [
            ("token", self.token),
            ("inbox", self.to.map(|inbox| inbox.to_string())),
            ("reference", self.reference),
            ("callback", self.callback),
            ("require", self.verified.then(|| "verified".to_owned())),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                set(name, json!(value));
            }
        }
        Value::Object(request)
    }
}
