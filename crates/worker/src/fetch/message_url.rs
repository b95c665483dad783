//! The URL of a mail at its provider's API.

use providers::RemoteMail;
use url::Url;

use super::FetchError;

/// The mail's URL below the API's base, with each path segment escaped.
pub(super) fn message_url(base: &Url, mail: &RemoteMail) -> Result<Url, FetchError> {
    let mut url = base.clone();
    if mail
        .path
        .iter()
        .any(|segment| matches!(segment.as_str(), "" | "." | ".."))
    {
        return Err(FetchError::UnexpectedAnswer);
    }
    let above = base.path().trim_end_matches('/');
    url.set_path(&[above, &providers::escape(&mail.path)].concat());
    if let Some((name, value)) = mail.query {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use providers::Holds;

    use super::*;

    #[test]
    fn ids_from_a_payload_stay_in_their_path_segment() {
        let base = Url::parse("https://api.provider.test").unwrap();
        let mail = |id: &str| RemoteMail {
            recipients: Vec::new(),
            path: vec!["mails".to_owned(), id.to_owned()],
            query: None,
            provider_id: None,
            holds: Holds::Message,
            received_at: None,
            stated_from: None,
            sender: None,
            flags: Vec::new(),
        };
        let url = message_url(&base, &mail("../keys?x#y")).unwrap();
        assert_eq!(
            url.as_str(),
            "https://api.provider.test/mails/..%2Fkeys%3Fx%23y"
        );
        assert_eq!(
            message_url(&base, &mail("..")),
            Err(FetchError::UnexpectedAnswer)
        );
    }
}
