//! The gate every link passes before it may be handed out.
//!
//! The order matters: what the URL parser would quietly repair is refused
//! before it sees the text. Nothing is ever resolved or fetched.

use thiserror::Error;
use url::Url;

use super::unwrap::{self, Unwrapped};
use super::{host, redirect};
use crate::Allowlist;

const MAX_URL: usize = 2_048;
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
    /// The allowlist entry that admits it, or `unlisted`.
    pub rule: String,
    /// The hosts of the wrappers taken off, outermost first.
    pub unwrapped: Vec<String>,
}

/// Why a URL did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// Longer than 2,048 bytes.
    #[error("the link is too long")]
    TooLong,
    /// Characters outside printable ASCII, blanks or backslashes.
    #[error("the link has characters no link should have")]
    Characters,
    /// Not `https://`.
    #[error("the link is not https")]
    Scheme,
    /// Not a URL.
    #[error("the link does not parse")]
    Malformed,
    /// A user name or a password.
    #[error("the link carries user information")]
    Userinfo,
    /// Another port than 443.
    #[error("the link names a port")]
    Port,
    /// No host.
    #[error("the link has no host")]
    NoHost,
    /// An address instead of a name, in any notation.
    #[error("the link leads to an address instead of a name")]
    IpLiteral,
    /// A host name that is none.
    #[error("the host name is malformed")]
    BadHost,
    /// A name of an inner network, or one that stands for any address.
    #[error("the host is internal")]
    Internal,
    /// An international name that is not listed letter by letter.
    #[error("the host is an international name that is not listed")]
    Idn,
    /// A public suffix or a name without one.
    #[error("the host belongs to nobody")]
    NotRegistrable,
    /// A host outside the allowlist.
    #[error("the host is not allowed")]
    NotAllowed,
    /// A parameter that leads on to a host outside the allowlist.
    #[error("the link leads on to another host")]
    Redirect,
    /// The text shows one host, the link leads to another.
    #[error("the link shows another host than it leads to")]
    TextHostMismatch,
    /// A tracker whose target cannot be read offline.
    #[error("the link is wrapped and cannot be read offline")]
    WrappedOpaque,
    /// Wrappers in wrappers without end.
    #[error("the link is wrapped too often")]
    WrappedTooOften,
}

/// Judges one URL as it stands in a mail: takes known wrappers off, checks what
/// is left and matches it against the allowlist.
pub fn judge(written: &str, allowed: &Allowlist) -> Result<Destination, Rejection> {
    let mut current = written.to_owned();
    let mut unwrapped = Vec::new();
    loop {
        let url = parse(&current)?;
        let name = host::domain(&url)?.to_owned();
        match unwrap::unwrap(&url, &name) {
            Unwrapped::Target(target) => {
                if unwrapped.len() == MAX_WRAPPERS {
                    return Err(Rejection::WrappedTooOften);
                }
                unwrapped.push(name);
                current = target;
            }
            Unwrapped::Opaque if !allowed.is_any() && allowed.names(&name) => {
                return admit(&url, &name, allowed, unwrapped);
            }
            Unwrapped::Opaque => return Err(Rejection::WrappedOpaque),
            Unwrapped::Plain => return admit(&url, &name, allowed, unwrapped),
        }
    }
}

fn parse(written: &str) -> Result<Url, Rejection> {
    if written.len() > MAX_URL {
        return Err(Rejection::TooLong);
    }
    // Other letters could be escaped and let through behind the host, but every
    // mailer escapes them itself, and what is left over tends to be bidirectional
    // marks, full-width slashes and letters that pose as a host.
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
    // `https://@host/` parses to no user at all; other parsers disagree.
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

fn admit(
    url: &Url,
    name: &str,
    allowed: &Allowlist,
    unwrapped: Vec<String>,
) -> Result<Destination, Rejection> {
    if host::is_international(name) && (host::is_confusable(name) || !allowed.names_exactly(name)) {
        return Err(Rejection::Idn);
    }
    let registrable = host::registrable(name)
        .ok_or(Rejection::NotRegistrable)?
        .to_owned();
    let rule = allowed
        .admits(url, name)
        .ok_or(Rejection::NotAllowed)?
        .to_owned();
    if !allowed.is_any() && redirect::leads_elsewhere(url, allowed) {
        return Err(Rejection::Redirect);
    }
    Ok(Destination {
        url: url.to_string(),
        host: name.to_owned(),
        registrable,
        rule,
        unwrapped,
    })
}

/// Where a wrapped URL leads, all known wrappers taken off; nothing for a URL
/// that is not wrapped or cannot be read. The target is not judged.
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
