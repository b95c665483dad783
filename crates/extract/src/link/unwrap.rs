//! Takes known wrappers off a link, offline.
//!
//! Only listed hosts are unwrapped. If the URL of a listed host does not contain
//! its target, the link is opaque: only the owner of the host knows the target.

use serde_json::Value;
use url::Url;

use super::decode::{base64_text, parameter, percent_decoded};
use super::proofpoint;
use super::wrapper::{Form, WRAPPERS};
use crate::host::is_under;

/// The result of taking one wrapper off.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unwrapped {
    /// The URL is not a wrapper.
    Plain,
    /// The URL wraps this one.
    Target(String),
    /// The URL is a wrapper, and its target cannot be read offline.
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

/// On a gateway every URL is a wrapped link. A large site also has pages of its own.
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
            // The escaped target is one segment. What follows belongs to the tracker.
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

/// Adds the scheme, which some trackers leave out.
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
    fn gateway_links_are_unwrapped() {
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
    fn base64_targets_are_decoded() {
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
    fn urls_outside_the_wrapper_table_are_plain() {
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
