//! What a person reads when requests are taken: which doors there are, and what
//! opens them. Only what is true of this very start is said.

use std::io::{self, Write};
use std::path::PathBuf;

use super::Lent;
use crate::config::Profile;
use crate::dev;
use crate::serve::{Role, Roles};
use crate::wire::Parts;

/// More sources than these are counted.
const MOST_SOURCES: usize = 5;

/// The doors of a process that serves.
pub(super) struct Banner {
    roles: Roles,
    profile: Profile,
    /// Each source that is posted to, and its provider.
    sources: Vec<(String, &'static str)>,
    /// The names of configured keys.
    keys: Vec<String>,
    /// Where the secrets for development stand.
    dev: Option<PathBuf>,
    has_dev_source: bool,
    has_dev_key: bool,
}

impl Banner {
    /// What there is to say of these parts.
    pub(super) fn of(parts: &Parts, roles: Roles, lent: Option<&Lent>) -> Self {
        let posting = parts.sources.iter().filter(|source| source.posts());
        Self {
            roles,
            profile: parts.config.profile(),
            sources: posting
                .map(|source| (source.name().to_string(), source.provider()))
                .collect(),
            keys: parts.config.key.keys().cloned().collect(),
            dev: lent.map(|lent| lent.dev.path()),
            has_dev_source: lent.is_some_and(|lent| lent.source),
            has_dev_key: lent.is_some_and(|lent| lent.key),
        }
    }

    /// Says it all but when it was ready.
    pub(super) fn tell(&self, out: &mut impl Write, url: &str) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let (role, profile) = (self.roles.name, self.profile.name());
        writeln!(out, "maillatch {version}  {role}  {profile} profile\n")?;
        if self.roles.play(Role::Webhook) {
            self.tell_sources(out, url)?;
        }
        if self.roles.play(Role::Feed) {
            let keys = self.keys_line();
            door(out, "Agent API", &format!("{url}/v1"), &keys)?;
            let whole = "the whole contract; OpenAPI at /openapi.json";
            door(out, "Docs", &format!("{url}/docs"), whole)?;
        }
        door(
            out,
            "Health",
            &format!("{url}/readyz"),
            "metrics at /metrics",
        )?;
        writeln!(out)?;
        if !self.roles.is_separate() {
            self.tell_try(out)?;
        }
        Ok(())
    }

    fn tell_sources(&self, out: &mut impl Write, url: &str) -> io::Result<()> {
        if self.sources.is_empty() {
            let how = "none is posted to: maillatch source add PROVIDER says how";
            return door(out, "Webhook", "-", how);
        }
        for (name, provider) in self.sources.iter().take(MOST_SOURCES) {
            let secret = match &self.dev {
                Some(file) if self.has_dev_source => format!("; secret in {}", file.display()),
                _ => String::new(),
            };
            let says = format!("{provider}{secret}");
            door(out, "Webhook", &format!("{url}/hooks/{name}"), &says)?;
        }
        match self.sources.len().saturating_sub(MOST_SOURCES) {
            0 => Ok(()),
            more => door(
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
            _ if self.keys.is_empty() => "maillatch api-key create NAME makes a key".to_owned(),
            _ => format!(
                "keys {}; maillatch api-key create NAME makes another",
                self.keys.join(", ")
            ),
        }
    }

    fn tell_try(&self, out: &mut impl Write) -> io::Result<()> {
        let post = match self.sources.first() {
            _ if self.has_dev_source => "maillatch trigger otp".to_owned(),
            Some((name, _)) => format!("maillatch source test {name}"),
            None => return Ok(()),
        };
        let key = if self.has_dev_key {
            String::new()
        } else {
            format!("{}=mlk_… ", dev::KEY)
        };
        writeln!(out, "  Try, in another terminal:   {post}")?;
        writeln!(
            out,
            "                              {key}maillatch wait code"
        )?;
        writeln!(
            out,
            "  From a checkout, write `cargo run --release --` for `maillatch`.\n"
        )
    }
}

fn door(out: &mut impl Write, name: &str, place: &str, says: &str) -> io::Result<()> {
    writeln!(out, "  {name:<9}  {place:<38}  {says}")
}
