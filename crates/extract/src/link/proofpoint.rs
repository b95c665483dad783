//! Proofpoint URL Defense: three versions of a wrapper with its own encodings.

use url::Url;

use super::decode::{base64_bytes, parameter, percent_decoded};

/// The target of a wrapped URL of any version.
pub(super) fn target(url: &Url) -> Option<String> {
    let path = url.path();
    if path.starts_with("/v3/") {
        third(url.as_str())
    } else if path.starts_with("/v2/") {
        percent_decoded(&raw_parameter(url, "u")?.replace('-', "%").replace('_', "/"))
    } else if path.starts_with("/v1/") {
        parameter(url, "u").map(|target| target.replace("&amp;", "&"))
    } else {
        None
    }
}

fn raw_parameter<'u>(url: &'u Url, name: &str) -> Option<&'u str> {
    url.query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Version 3 is `/v3/__URL__;BASE64!...`. Each `*` in the URL stands for the next
/// character of the Base64 text, and `**X` for as many as `X` encodes.
fn third(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("/v3/__")?;
    let (masked, rest) = rest.rsplit_once("__;")?;
    let replaced = rest.split('!').next().unwrap_or_default();
    let decoded = String::from_utf8(base64_bytes(replaced)?).ok()?;
    let mut replaced = decoded.chars();
    let mut target = String::with_capacity(masked.len());
    let mut masked = masked.chars().peekable();
    while let Some(c) = masked.next() {
        if c != '*' {
            target.push(c);
        } else if masked.next_if_eq(&'*').is_some() {
            let count = run_length(masked.next()?)?;
            target.extend(replaced.by_ref().take(count));
        } else {
            target.push(replaced.next()?);
        }
    }
    Some(with_both_slashes(&target))
}

fn run_length(c: char) -> Option<usize> {
    const RUNS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    RUNS.find(c).map(|at| at + 2)
}

/// Restores the second slash, which some servers remove from a path.
fn with_both_slashes(target: &str) -> String {
    match target.split_once(":/") {
        Some((scheme, rest)) if !rest.starts_with('/') => format!("{scheme}://{rest}"),
        _ => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads_to(wrapped: &str) -> Option<String> {
        target(&Url::parse(wrapped).unwrap())
    }

    #[test]
    fn version_1_target_is_percent_decoded() {
        let wrapped = "https://urldefense.proofpoint.com/v1/url?u=https://a.com/v%3Ft%3D1&amp;k=x";
        assert_eq!(leads_to(wrapped).as_deref(), Some("https://a.com/v?t=1"));
    }

    #[test]
    fn version_2_dashes_are_percents_and_underscores_are_slashes() {
        let wrapped = "https://urldefense.proofpoint.com/v2/url?u=https-3A__a.com_v-3Ft-3D1-26x-3D2-2B3&d=Dw&c=f-K";
        assert_eq!(
            leads_to(wrapped).as_deref(),
            Some("https://a.com/v?t=1&x=2+3")
        );
    }

    #[test]
    fn version_3_replaced_characters_are_restored() {
        let plain = "https://urldefense.com/v3/__https://a.com/v?t=1__;!!abc!def$";
        assert_eq!(leads_to(plain).as_deref(), Some("https://a.com/v?t=1"));
        // `#` is replaced once, `~~` as a run of two.
        let masked = "https://urldefense.com/v3/__https:/a.com/*x**Ay__;I35-!!abc!def$";
        assert_eq!(leads_to(masked).as_deref(), Some("https://a.com/#x~~y"));
    }

    #[test]
    fn broken_wrapper_has_no_target() {
        assert_eq!(
            leads_to("https://urldefense.com/v3/__https://a.com/*__;!!"),
            None
        );
        assert_eq!(leads_to("https://urldefense.com/other"), None);
    }
}
