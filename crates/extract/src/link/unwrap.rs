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
use super::wrapper::{Form, WRAPPERS};

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

/// Takes one wrapper off.
pub(super) fn unwrap(url: &Url, host: &str) -> Unwrapped {
    let wrapper = WRAPPERS
        .iter()
        .find(|(name, path, _)| is_under(host, name) && url.path().starts_with(path));
    let Some((_, _, form)) = wrapper else {
        return Unwrapped::Plain;
    };
    match target(url, *form) {
        Some(target) => Unwrapped::Target(with_scheme(&target)),
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
fn with_scheme(target: &str) -> String {
    let target = target.trim();
    let has_scheme = target
        .split_once(':')
        .is_some_and(|(scheme, rest)| rest.starts_with('/') || !scheme.contains('.'));
    if has_scheme {
        target.to_owned()
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
