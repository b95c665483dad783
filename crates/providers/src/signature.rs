//! The signature header: what it lists, in which form, and its limits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::VerifyError;

/// A signature header is never longer than this.
const MOST_BYTES: usize = 1024;
/// A signature header never lists more than this; every one costs a comparison.
const MOST_SIGNATURES: usize = 10;

/// The signatures with `prefix` in a list parted by single spaces, decoded.
/// Those with other prefixes are of versions we do not know and are passed
/// over; those that are not strict base64 are of no use to anyone.
pub(crate) fn list(header: &[u8], prefix: &str) -> Result<Vec<Vec<u8>>, VerifyError> {
    if header.len() > MOST_BYTES {
        return Err(VerifyError::SignatureTooLarge);
    }
    let text = str::from_utf8(header)
        .ok()
        .ok_or(VerifyError::SignatureUnknown)?;
    let entries: Vec<&str> = text.split(' ').collect();
    if entries.len() > MOST_SIGNATURES {
        return Err(VerifyError::SignatureTooLarge);
    }
    let known: Vec<Vec<u8>> = entries
        .into_iter()
        .filter_map(|entry| entry.strip_prefix(prefix))
        .filter_map(|encoded| STANDARD.decode(encoded).ok())
        .collect();
    if known.is_empty() {
        Err(VerifyError::SignatureUnknown)
    } else {
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_versions_are_passed_over() {
        assert_eq!(list(b"v1a,AAAA v1,AQID", "v1,"), Ok(vec![vec![1, 2, 3]]));
        assert_eq!(list(b"v2,AQID", "v1,"), Err(VerifyError::SignatureUnknown));
    }

    #[test]
    fn only_strict_base64_counts() {
        for bad in [
            "v1,AQI",
            "v1,AQI=\n",
            "v1,_-8=",
            "v1,=",
            "v1,",
            "v1",
            "V1,AQID",
        ] {
            let read = list(bad.as_bytes(), "v1,").map(|known| known.concat());
            assert!(read.is_err_and(|flaw| flaw == VerifyError::SignatureUnknown) || bad == "v1,");
        }
        assert_eq!(
            list(b"v1,", "v1,"),
            Ok(vec![vec![]]),
            "an empty one matches no MAC"
        );
    }

    #[test]
    fn the_list_is_bounded_by_count_and_by_bytes() {
        let ten = ["v1,AQID"; 10].join(" ");
        let eleven = ["v1,AQID"; 11].join(" ");
        assert_eq!(list(ten.as_bytes(), "v1,").map(|all| all.len()), Ok(10));
        assert_eq!(
            list(eleven.as_bytes(), "v1,"),
            Err(VerifyError::SignatureTooLarge)
        );
        let long = format!("v1,AQID {}", "x".repeat(1024));
        assert_eq!(
            list(long.as_bytes(), "v1,"),
            Err(VerifyError::SignatureTooLarge)
        );
    }
}
