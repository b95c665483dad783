//! What a server prints for people when it is ready: its URLs, and where the secrets
//! for them are. Every line fits the configuration at hand.

use std::io::{self, Write};
use std::path::PathBuf;

use super::DevDefaults;
use crate::config::Profile;
use crate::dev;
use crate::serve::{Role, Roles};
use crate::wire::Parts;

/// At most so many sources are listed.
const MAX_SOURCES: usize = 5;

/// The lines for one server.
pub(super) struct Banner {
    roles: Roles,
    profile: Profile,
    /// Each source that has a webhook, and its provider.
    sources: Vec<(String, &'static str)>,
    /// The names of configured keys.
    keys: Vec<String>,
    /// The file with the development secrets.
    dev: Option<PathBuf>,
    has_dev_source: bool,
    has_dev_key: bool,
    /// An inbox to try.
    inbox: String,
}

impl Banner {
    /// The banner of these parts.
    pub(super) fn of(parts: &Parts, roles: Roles, defaults: Option<&DevDefaults>) -> Self {
        let posting = parts.sources.iter().filter(|source| source.posts());
        Self {
            roles,
            profile: parts.config.profile(),
            sources: posting
                .map(|source| (source.name().to_string(), source.provider()))
                .collect(),
            keys: parts.config.key.keys().cloned().collect(),
            dev: defaults.map(|defaults| defaults.dev.path()),
            has_dev_source: defaults.is_some_and(|defaults| defaults.has_source),
            has_dev_key: defaults.is_some_and(|defaults| defaults.has_key),
            inbox: format!("agent@{}", parts.config.inbox.mint_domain),
        }
    }

    /// Prints everything but the ready line.
    pub(super) fn print(
        &self,
        out: &mut impl Write,
        url: &str,
        ops: Option<&str>,
    ) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let (role, profile) = (self.roles.name, self.profile.name());
        writeln!(out, "maillatch {version}  {role}  {profile} profile\n")?;
        if self.roles.has(Role::Webhook) {
            self.print_sources(out, url)?;
        }
        if self.roles.has(Role::Feed) {
            let keys = self.keys_line();
            line(out, "Agent API", &format!("{url}/v1"), &keys)?;
            let mcp = "or on standard input and output: maillatch mcp";
            line(out, "MCP", &format!("{url}/mcp"), mcp)?;
            let docs = "the API described; OpenAPI at /openapi.json";
            line(out, "Docs", &format!("{url}/docs"), docs)?;
        }
        if let Some(ops) = ops {
            let metrics = "what is wrong, if anything; metrics at /metrics";
            line(out, "Health", &format!("{ops}/readyz"), metrics)?;
        } else {
            line(out, "Health", &format!("{url}/readyz"), "no metrics")?;
        }
        writeln!(out)?;
        if !self.roles.is_separate() {
            self.print_next_steps(out)?;
        }
        Ok(())
    }

    fn print_sources(&self, out: &mut impl Write, url: &str) -> io::Result<()> {
        if self.sources.is_empty() {
            let how = "no source has one; connect one with: maillatch source add PROVIDER";
            return line(out, "Webhook", "-", how);
        }
        for (name, provider) in self.sources.iter().take(MAX_SOURCES) {
            let secret = match &self.dev {
                Some(file) if self.has_dev_source => format!("; secret in {}", file.display()),
                _ => String::new(),
            };
            let note = format!("{provider}{secret}");
            line(out, "Webhook", &format!("{url}/hooks/{name}"), &note)?;
        }
        match self.sources.len().saturating_sub(MAX_SOURCES) {
            0 => Ok(()),
            more => line(
                out,
                "",
                &format!("and {more} more"),
                "maillatch source list",
            ),
        }
    }

    fn keys_line(&self) -> String {
        match &self.dev {
            Some(file) if self.has_dev_key => format!("key in {}", file.display()),
            _ if self.keys.is_empty() => {
                "create a key with: maillatch api-key create NAME".to_owned()
            }
            _ => format!(
                "keys {}; create another with: maillatch api-key create NAME",
                self.keys.join(", ")
            ),
        }
    }

    fn print_next_steps(&self, out: &mut impl Write) -> io::Result<()> {
        let post = match self.sources.first() {
            _ if self.has_dev_source => "maillatch trigger otp".to_owned(),
            Some((name, _)) => format!("maillatch source test {name} --to {}", self.inbox),
            None => return Ok(()),
        };
        let to = if self.has_dev_source {
            String::new()
        } else {
            format!(" --to {}", self.inbox)
        };
        let key = if self.has_dev_key {
            String::new()
        } else {
            format!("{}=mlk_… ", dev::KEY)
        };
        writeln!(out, "  Try, in another terminal:   {post}")?;
        writeln!(
            out,
            "                              {key}maillatch wait code{to}"
        )?;
        writeln!(
            out,
            "  From a checkout, write `cargo run --release --` for `maillatch`.\n"
        )
    }
}

fn line(out: &mut impl Write, name: &str, place: &str, note: &str) -> io::Result<()> {
    writeln!(out, "  {name:<9}  {place:<38}  {note}")
}
