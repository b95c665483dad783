//! The checks that every link passes before an agent may get it.
//!
//! The text is checked before the URL parser sees it, because the parser repairs
//! bad input silently. Nothing is resolved or fetched.

use url::Url;

use super::redirect::Redirects;
use super::unwrap::{self, Unwrapped};
use crate::allowlist::Allowlist;
use crate::host;
use crate::rejection::Rejection;

/// Longer URLs are refused.
pub(super) const MAX_URL: usize = 2_048;
const MAX_WRAPPERS: usize = 5;

/// A URL that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Serialised again from its parsed form.
    pub url: String,
    /// The host in its ASCII form.
    pub host: String,
    /// The registrable domain of the host.
    pub registrable: String,
    /// The allowlist entry that matched, or `unlisted`.
    pub rule: String,
    /// The hosts of the wrappers taken off, outermost first.
    pub unwrapped: Vec<String>,
}

/// A URL with its wrappers taken off, which passed every check that needs no
/// allowlist. It is checked once and then admitted under any number of lists.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) url: Url,
    pub(super) host: String,
    registrable: Option<String>,
    unwrapped: Vec<String>,
    /// A tracking link whose target cannot be read offline.
    is_opaque: bool,
    is_international: bool,
    is_confusable: bool,
    redirects: Redirects,
}

/// Judges one URL as it is written in a mail.
pub fn judge(written: &str, allowed: &Allowlist) -> Result<Destination, Rejection> {
    let checked = check(written)?;
    let rule = checked.admit(allowed)?.to_owned();
    Ok(checked.destination(rule))
}

/// Takes known wrappers off and checks what is left.
pub(super) fn check(written: &str) -> Result<Checked, Rejection> {
    let mut current = written.to_owned();
    let mut unwrapped = Vec::new();
    loop {
        let url = parse(&current)?;
        let name = host::domain(&url)?.to_owned();
        let is_opaque = match unwrap::unwrap(&url, &name) {
            Unwrapped::Target(_) if unwrapped.len() == MAX_WRAPPERS => {
                return Err(Rejection::WrappedTooOften);
            }
            Unwrapped::Target(target) => {
                unwrapped.push(name);
                current = target;
                continue;
            }
            Unwrapped::Opaque => true,
            Unwrapped::Plain => false,
        };
        let is_international = host::is_international(&name);
        return Ok(Checked {
            registrable: host::registrable(&name).map(str::to_owned),
            is_confusable: is_international && host::is_confusable(&name),
            redirects: Redirects::of(&url),
            is_international,
            is_opaque,
            host: name,
            unwrapped,
            url,
        });
    }
}

impl Checked {
    /// The allowlist entry that admits the URL, or `unlisted`.
    pub(super) fn admit<'l>(&self, allowed: &'l Allowlist) -> Result<&'l str, Rejection> {
        // An operator who lists the host of a tracker trusts where it leads.
        let is_trusted = !allowed.is_any() && allowed.names(&self.host);
        if self.is_opaque && !is_trusted {
            return Err(Rejection::WrappedOpaque);
        }
        if self.is_international && (self.is_confusable || !allowed.names_exactly(&self.host)) {
            return Err(Rejection::Idn);
        }
        if self.registrable.is_none() {
            return Err(Rejection::NotRegistrable);
        }
        let rule = allowed
            .admits(&self.url, &self.host)
            .ok_or(Rejection::NotAllowed)?;
        if !allowed.is_any() && self.redirects.leave(allowed) {
            return Err(Rejection::Redirect);
        }
        Ok(rule)
    }

    /// The registrable domain of the host, if it has one.
    pub(super) fn registrable(&self) -> Option<&str> {
        self.registrable.as_deref()
    }

    /// Whether a wrapper was taken off, or could not be.
    pub(super) fn is_wrapped(&self) -> bool {
        self.is_opaque || !self.unwrapped.is_empty()
    }

    pub(super) fn is_opaque(&self) -> bool {
        self.is_opaque
    }

    /// The URL as it is handed out, under the allowlist entry that admits it.
    pub(super) fn destination(&self, rule: String) -> Destination {
        Destination {
            url: self.url.to_string(),
            host: self.host.clone(),
            registrable: self.registrable.clone().unwrap_or_default(),
            rule,
            unwrapped: self.unwrapped.clone(),
        }
    }
}

fn parse(written: &str) -> Result<Url, Rejection> {
    if written.len() > MAX_URL {
        return Err(Rejection::TooLong);
    }
    // Mailers escape other letters themselves. Unescaped ones are mostly
    // bidirectional marks, full-width slashes and letters that imitate a host.
    if !written
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    {
        return Err(Rejection::Characters);
    }
    let scheme = written
        .get(..8)
        .is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    if !scheme {
        return Err(Rejection::Scheme);
    }
    if written.get(8..).is_some_and(|rest| rest.starts_with('/')) {
        return Err(Rejection::NoHost);
    }
    // `https://@host/` parses to an empty user name; other parsers disagree.
    let authority = written
        .get(8..)
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    if authority.contains('@') {
        return Err(Rejection::Userinfo);
    }
    if authority.contains('%') {
        return Err(Rejection::BadHost);
    }
    let url = Url::parse(written).map_err(|_parse| Rejection::Malformed)?;
    if url.scheme() != "https" {
        return Err(Rejection::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Rejection::Userinfo);
    }
    if url.port().is_some() {
        return Err(Rejection::Port);
    }
    Ok(url)
}

/// The target of a wrapped URL with all known wrappers taken off; `None` for a
/// URL that is not wrapped or cannot be read. The target is not judged.
pub fn unwrap(written: &str) -> Option<String> {
    let mut target = None;
    let mut current = written.to_owned();
    for _ in 0..=MAX_WRAPPERS {
        let Ok(url) = Url::parse(&current) else { break };
        let Some(Unwrapped::Target(next)) = url.host_str().map(|host| unwrap::unwrap(&url, host))
        else {
            break;
        };
        current.clone_from(&next);
        target = Some(next);
    }
    target
}
