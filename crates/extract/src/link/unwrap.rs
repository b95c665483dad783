//! Known wrappers around links, taken off without asking anybody.
//!
//! Only listed hosts are unwrapped. A listed host whose target cannot be read
//! from the URL is opaque: nobody but its owner knows where it leads.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use url::Url;

use super::host::is_under;
use super::proofpoint;

/// What a URL turns out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unwrapped {
    /// Not a wrapper.
    Plain,
    /// A wrapper around this URL.
    Target(String),
    /// A wrapper nobody can read offline.
    Opaque,
}

#[derive(Clone, Copy)]
enum Form {
    /// The target is a query parameter.
    Query(&'static [&'static str]),
    /// ... in Base64.
    QueryBase64(&'static str),
    /// The target is escaped in the path, after this many segments.
    Path(usize),
    /// A Base64 path segment holds JSON with the target in this field.
    PathJson(&'static str),
    /// A Base64 parameter holds JSON, which holds JSON, which holds the target.
    Mandrill,
    Proofpoint,
    /// The target stands between underscores: `/v2/___URL___.`.
    CheckPoint,
    Opaque,
}

/// Host, beginning of the path, form.
const WRAPPERS: &[(&str, &str, Form)] = &[
    (
        "safelinks.protection.outlook.com",
        "/",
        Form::Query(&["url"]),
    ),
    (
        "safelinks.protection.office365.us",
        "/",
        Form::Query(&["url"]),
    ),
    (
        "safelinks.protection.partner.outlook.cn",
        "/",
        Form::Query(&["url"]),
    ),
    (
        "statics.teams.cdn.office.net",
        "/evergreen-assets/safelinks",
        Form::Query(&["url"]),
    ),
    ("urldefense.proofpoint.com", "/", Form::Proofpoint),
    ("urldefense.com", "/", Form::Proofpoint),
    ("urldefense.us", "/", Form::Proofpoint),
    ("trendmicro.com", "/wis/clicktime", Form::Query(&["url"])),
    ("linkprotect.cudasvc.com", "/url", Form::Query(&["a"])),
    ("google.com", "/url", Form::Query(&["q", "url"])),
    ("mandrillapp.com", "/track/click", Form::Mandrill),
    ("customeriomail.com", "/e/c/", Form::PathJson("href")),
    ("customer.io", "/e/c/", Form::PathJson("href")),
    ("linkedin.com", "/redir/redirect", Form::Query(&["url"])),
    ("linkedin.com", "/redirect", Form::Query(&["url"])),
    ("linkedin.com", "/safety/go", Form::Query(&["url"])),
    ("facebook.com", "/l.php", Form::Query(&["u"])),
    ("instagram.com", "/", Form::Query(&["u"])),
    ("messenger.com", "/l.php", Form::Query(&["u"])),
    ("youtube.com", "/redirect", Form::Query(&["q"])),
    ("slack-redir.net", "/link", Form::Query(&["url"])),
    ("vk.com", "/away.php", Form::Query(&["to"])),
    ("out.reddit.com", "/", Form::Query(&["url"])),
    ("t.umblr.com", "/redirect", Form::Query(&["z"])),
    (
        "steamcommunity.com",
        "/linkfilter",
        Form::Query(&["url", "u"]),
    ),
    ("duckduckgo.com", "/l/", Form::Query(&["uddg"])),
    ("disq.us", "/url", Form::Query(&["url"])),
    ("exit.sc", "/", Form::Query(&["url"])),
    ("via.intercom.io", "/c", Form::Query(&["url"])),
    ("protect.fireeye.com", "/", Form::Query(&["u"])),
    ("protect2.fireeye.com", "/", Form::Query(&["u"])),
    ("clicktime.symantec.com", "/", Form::Query(&["u"])),
    (
        "clicktime.cloud.postoffice.net",
        "/",
        Form::Query(&["U", "u"]),
    ),
    ("protection.sophos.com", "/", Form::QueryBase64("u")),
    ("link.edgepilot.com", "/s/", Form::Query(&["u"])),
    ("linklock.titanhq.com", "/analyse", Form::Query(&["url"])),
    ("secure-web.cisco.com", "/", Form::Path(1)),
    (
        "outgoing.prod.webservices.mozgcp.net",
        "/v1/",
        Form::Path(2),
    ),
    ("awstrack.me", "/L0/", Form::Path(1)),
    ("click.pstmrk.it", "/", Form::Path(1)),
    ("protect.checkpoint.com", "/", Form::CheckPoint),
    ("sendgrid.net", "/", Form::Opaque),
    ("mimecast.com", "/", Form::Opaque),
    ("mimecastprotect.com", "/", Form::Opaque),
    ("hubspotlinks.com", "/", Form::Opaque),
    ("hubspotemail.net", "/", Form::Opaque),
    ("hs-sites.com", "/e3t/", Form::Opaque),
    ("list-manage.com", "/track/", Form::Opaque),
    ("mailchi.mp", "/", Form::Opaque),
    ("mjt.lu", "/", Form::Opaque),
    ("mailgun.org", "/c/", Form::Opaque),
    ("sparkpostmail.com", "/", Form::Opaque),
    ("sparkpostmail1.com", "/", Form::Opaque),
    ("spgo.io", "/", Form::Opaque),
    ("klclick.com", "/", Form::Opaque),
    ("klclick1.com", "/", Form::Opaque),
    ("klclick2.com", "/", Form::Opaque),
    ("klclick3.com", "/", Form::Opaque),
    ("exacttarget.com", "/", Form::Opaque),
    ("rs6.net", "/", Form::Opaque),
    ("createsend1.com", "/", Form::Opaque),
    ("createsend.com", "/t/", Form::Opaque),
    ("cmail19.com", "/", Form::Opaque),
    ("cmail20.com", "/", Form::Opaque),
    ("sendibt2.com", "/", Form::Opaque),
    ("sendibt3.com", "/", Form::Opaque),
    ("sendibm1.com", "/", Form::Opaque),
    ("mkt3337.com", "/", Form::Opaque),
    ("mkt4477.com", "/", Form::Opaque),
    ("inky.com", "/", Form::Opaque),
    ("braze.com", "/ls/", Form::Opaque),
    ("convertkit-mail.com", "/c/", Form::Opaque),
    ("convertkit-mail2.com", "/c/", Form::Opaque),
    ("mlsend.com", "/", Form::Opaque),
    ("intercom-clicks.com", "/", Form::Opaque),
    ("intercom-links.com", "/", Form::Opaque),
    ("emltrk.com", "/", Form::Opaque),
    ("bit.ly", "/", Form::Opaque),
    ("tinyurl.com", "/", Form::Opaque),
    ("t.co", "/", Form::Opaque),
    ("lnkd.in", "/", Form::Opaque),
    ("goo.gl", "/", Form::Opaque),
    ("ow.ly", "/", Form::Opaque),
    ("is.gd", "/", Form::Opaque),
    ("rebrand.ly", "/", Form::Opaque),
    ("cutt.ly", "/", Form::Opaque),
];

/// Takes one wrapper off.
pub(super) fn unwrap(url: &Url, host: &str) -> Unwrapped {
    let wrapper = WRAPPERS
        .iter()
        .find(|(name, path, _)| is_under(host, name) && url.path().starts_with(path));
    let Some((_, _, form)) = wrapper else {
        return Unwrapped::Plain;
    };
    match target(url, *form) {
        Some(target) => Unwrapped::Target(with_scheme(target)),
        None if matches!(form, Form::Query(_)) && !is_gateway(host) => Unwrapped::Plain,
        None => Unwrapped::Opaque,
    }
}

/// On a gateway everything is a wrapped link; a large site has pages of its own.
fn is_gateway(host: &str) -> bool {
    ![
        "google.com",
        "linkedin.com",
        "facebook.com",
        "instagram.com",
        "youtube.com",
        "vk.com",
        "trendmicro.com",
        "steamcommunity.com",
    ]
    .iter()
    .any(|name| is_under(host, name))
}

fn target(url: &Url, form: Form) -> Option<String> {
    match form {
        Form::Query(names) => names
            .iter()
            .find_map(|name| parameter(url, name))
            .filter(|found| !found.is_empty()),
        Form::QueryBase64(name) => base64_text(&parameter(url, name)?),
        Form::Path(skip) => {
            let rest = url
                .path()
                .trim_start_matches('/')
                .splitn(skip + 1, '/')
                .nth(skip)?;
            // Only the segment that holds the escaped target; what follows is the tracker's.
            let segment = rest.split('/').next()?;
            percent_decoded(segment).filter(|found| found.contains('.'))
        }
        Form::PathJson(field) => {
            let json = base64_text(url.path().trim_start_matches('/').split('/').nth(2)?)?;
            json_field(&json, field)
        }
        Form::Mandrill => {
            let outer = base64_text(&parameter(url, "p")?)?;
            json_field(&json_field(&outer, "p")?, "url")
        }
        Form::Proofpoint => proofpoint::target(url),
        Form::CheckPoint => {
            let (_, rest) = url.as_str().split_once("___")?;
            Some(rest.split_once("___")?.0.to_owned())
        }
        Form::Opaque => None,
    }
}

/// Trackers that save bytes leave the scheme out.
fn with_scheme(target: String) -> String {
    let target = target.trim().to_owned();
    let has_scheme = target
        .split_once(':')
        .is_some_and(|(scheme, rest)| rest.starts_with('/') || !scheme.contains('.'));
    if has_scheme {
        target
    } else {
        format!("https://{}", target.trim_start_matches('/'))
    }
}

pub(super) fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let pair = format!("v={}", text.replace('+', "%2B").replace('&', "%26"));
    let (_, decoded) = url::form_urlencoded::parse(pair.as_bytes()).next()?;
    Some(decoded.into_owned())
}

/// Base64 in either alphabet, padded or not.
pub(super) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard = text.replace('-', "+").replace('_', "/");
    GeneralPurpose::new(&alphabet::STANDARD, config)
        .decode(standard.trim().as_bytes())
        .ok()
}

fn base64_text(text: &str) -> Option<String> {
    String::from_utf8(base64_bytes(text)?).ok()
}

fn json_field(json: &str, field: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json.trim()).ok()?;
    value.get(field)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_of(wrapped: &str) -> Unwrapped {
        let url = Url::parse(wrapped).unwrap();
        let host = url.host_str().unwrap().to_owned();
        unwrap(&url, &host)
    }

    fn leads_to(wrapped: &str, target: &str) {
        assert_eq!(
            target_of(wrapped),
            Unwrapped::Target(target.to_owned()),
            "{wrapped}"
        );
    }

    #[test]
    fn gateways_are_unwrapped() {
        let target = "https://app.acme.com/v?t=1&x=2";
        let escaped = "https%3A%2F%2Fapp.acme.com%2Fv%3Ft%3D1%26x%3D2";
        leads_to(
            &format!("https://eur02.safelinks.protection.outlook.com/?url={escaped}&data=05%7C"),
            target,
        );
        leads_to(
            &format!("https://linkprotect.cudasvc.com/url?a={escaped}&c=E,1"),
            target,
        );
        leads_to(
            &format!("https://www.google.com/url?q={escaped}&sa=D"),
            target,
        );
        leads_to(
            &format!("https://l.facebook.com/l.php?u={escaped}&h=AT0"),
            target,
        );
        leads_to(
            &format!("https://www.linkedin.com/redir/redirect?url={escaped}"),
            target,
        );
        leads_to(
            &format!("https://secure-web.cisco.com/1abcDEF/{escaped}"),
            target,
        );
        leads_to(
            &format!("https://x1y2.r.eu-west-1.awstrack.me/L0/{escaped}/1/0102/abc=1"),
            target,
        );
        leads_to(
            "https://click.pstmrk.it/3s/app.acme.com%2Fv%3Ft%3D1%26x%3D2/W1sC/3-y",
            target,
        );
        leads_to(
            &format!("https://protect.checkpoint.com/v2/___{target}___.YXAz"),
            target,
        );
    }

    #[test]
    fn encoded_targets_are_decoded() {
        leads_to(
            "https://mandrillapp.com/track/click/1/a.com?p=eyJwIjoie1widXJsXCI6XCJodHRwczpcXFwvXFxcL2EuY29tXFxcL3ZcIn0ifQ",
            "https://a.com/v",
        );
        leads_to(
            "https://e.customeriomail.com/e/c/eyJocmVmIjoiaHR0cHM6Ly9hLmNvbS92In0/1e59",
            "https://a.com/v",
        );
        leads_to(
            "https://eu-central-1.protection.sophos.com/?d=a.com&u=aHR0cHM6Ly9hLmNvbS92",
            "https://a.com/v",
        );
    }

    #[test]
    fn trackers_without_a_readable_target_are_opaque() {
        assert_eq!(
            target_of("https://u1.ct.sendgrid.net/ls/click?upn=u001.Ab"),
            Unwrapped::Opaque
        );
        assert_eq!(
            target_of("https://protect-eu.mimecast.com/s/Abc?domain=acme.com"),
            Unwrapped::Opaque
        );
    }

    #[test]
    fn other_hosts_and_pages_are_themselves() {
        assert_eq!(
            target_of("https://app.acme.com/url?q=https://b.com"),
            Unwrapped::Plain
        );
        assert_eq!(
            target_of("https://www.google.com/search?q=https://b.com"),
            Unwrapped::Plain
        );
        assert_eq!(target_of("https://www.facebook.com/acme"), Unwrapped::Plain);
    }
}
