//! The signature header: its layouts and its limits.

use super::VerifyError;
use crate::encoding::Encoding;

/// The longest signature header that is read.
const MOST_BYTES: usize = 1024;
/// The most signatures in one header; each costs a comparison.
const MOST_SIGNATURES: usize = 10;

/// How a signature header lists its signatures.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// One signature after a prefix, such as `sha256=…`; the prefix may be empty.
    Single {
        /// The text before the signature.
        prefix: String,
        /// How the signature is written.
        encoding: Encoding,
    },
    /// Signatures separated by single spaces: `v1,… v1a,…`. Those with another prefix
    /// belong to unknown versions and are skipped.
    List {
        /// The text before each signature of the known version.
        prefix: String,
        /// How a signature is written.
        encoding: Encoding,
    },
    /// Pairs separated by commas, one of them the timestamp: `t=…,v1=…,v1=…`.
    Pairs {
        /// The name of the timestamp, which must come once.
        timestamp: String,
        /// The name of the signatures; there may be several.
        signature: String,
        /// How a signature is written.
        encoding: Encoding,
    },
}

impl Layout {
    /// The header for one signature, made at `stamp`.
    pub(crate) fn write(&self, mac: &[u8], stamp: &str) -> String {
        match self {
            Self::Single { prefix, encoding } | Self::List { prefix, encoding } => {
                format!("{prefix}{}", encoding.encode(mac))
            }
            Self::Pairs {
                timestamp,
                signature,
                encoding,
            } => format!("{timestamp}={stamp},{signature}={}", encoding.encode(mac)),
        }
    }
}

/// What a signature header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    /// Every signature of a known form, decoded.
    pub(crate) signatures: Vec<Vec<u8>>,
    /// The timestamp, if it is in this header.
    pub(crate) timestamp: Option<&'a [u8]>,
}

/// Reads a signature header; one without a usable signature is refused.
pub(crate) fn read<'a>(layout: &Layout, header: &'a [u8]) -> Result<Header<'a>, VerifyError> {
    if header.len() > MOST_BYTES {
        return Err(VerifyError::SignatureTooLarge);
    }
    let text = str::from_utf8(header)
        .ok()
        .ok_or(VerifyError::SignatureUnknown)?;
    let (signatures, timestamp) = match layout {
        Layout::Single { prefix, encoding } => {
            let signature = text.strip_prefix(prefix.as_str());
            (decoded(signature, *encoding)?, None)
        }
        Layout::List { prefix, encoding } => {
            let signatures = text
                .split(' ')
                .map(|entry| entry.strip_prefix(prefix.as_str()));
            (decoded(bounded(signatures)?, *encoding)?, None)
        }
        Layout::Pairs {
            timestamp,
            signature,
            encoding,
        } => {
            let pairs = || text.split(',').filter_map(|pair| pair.split_once('='));
            let named = |name: &str| {
                let wanted: Vec<&str> = pairs()
                    .filter(|(have, _)| *have == name)
                    .map(|(_, value)| value)
                    .collect();
                wanted
            };
            let signatures = bounded(named(signature).into_iter().map(Some))?;
            let [moment] = named(timestamp)[..] else {
                return Err(VerifyError::TimestampMalformed);
            };
            (decoded(signatures, *encoding)?, Some(moment.as_bytes()))
        }
    };
    Ok(Header {
        signatures,
        timestamp,
    })
}

/// The entries that have the wanted form, if there are not too many in all.
fn bounded<'a>(
    entries: impl Iterator<Item = Option<&'a str>>,
) -> Result<Vec<&'a str>, VerifyError> {
    let entries: Vec<Option<&str>> = entries.take(MOST_SIGNATURES + 1).collect();
    if entries.len() > MOST_SIGNATURES {
        return Err(VerifyError::SignatureTooLarge);
    }
    Ok(entries.into_iter().flatten().collect())
}

fn decoded<'a>(
    entries: impl IntoIterator<Item = &'a str>,
    encoding: Encoding,
) -> Result<Vec<Vec<u8>>, VerifyError> {
    let known: Vec<Vec<u8>> = entries
        .into_iter()
        .filter_map(|entry| encoding.decode(entry))
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

    fn list(header: &str) -> Result<Vec<Vec<u8>>, VerifyError> {
        let layout = Layout::List {
            prefix: "v1,".to_owned(),
            encoding: Encoding::Base64,
        };
        read(&layout, header.as_bytes()).map(|header| header.signatures)
    }

    fn pairs(header: &str) -> Result<Header<'_>, VerifyError> {
        let layout = Layout::Pairs {
            timestamp: "t".to_owned(),
            signature: "v1".to_owned(),
            encoding: Encoding::Hex,
        };
        read(&layout, header.as_bytes())
    }

    #[test]
    fn signatures_of_unknown_versions_are_skipped() {
        assert_eq!(list("v1a,AAAA v1,AQID"), Ok(vec![vec![1, 2, 3]]));
        assert_eq!(list("v2,AQID"), Err(VerifyError::SignatureUnknown));
    }

    #[test]
    fn signature_must_be_strict_base64() {
        for bad in ["v1,AQI", "v1,AQI=\n", "v1,_-8=", "v1,=", "v1", "V1,AQID"] {
            assert_eq!(list(bad), Err(VerifyError::SignatureUnknown), "{bad:?}");
        }
        assert_eq!(list("v1,"), Ok(vec![vec![]]), "an empty one matches no MAC");
    }

    #[test]
    fn more_than_10_signatures_or_1024_bytes_are_refused() {
        assert_eq!(
            list(&["v1,AQID"; 10].join(" ")).map(|all| all.len()),
            Ok(10)
        );
        let long = format!("v1,AQID {}", "x".repeat(1024));
        for large in [["v1,AQID"; 11].join(" "), long] {
            assert_eq!(list(&large), Err(VerifyError::SignatureTooLarge));
        }
        let eleven = format!("t=1{}", ",v1=00".repeat(11));
        assert_eq!(pairs(&eleven), Err(VerifyError::SignatureTooLarge));
    }

    #[test]
    fn pairs_need_exactly_one_timestamp_and_a_signature() {
        assert_eq!(
            pairs("t=17,v0=zz,v1=00,v1=ff"),
            Ok(Header {
                signatures: vec![vec![0], vec![255]],
                timestamp: Some(b"17"),
            })
        );
        assert_eq!(pairs("v1=00"), Err(VerifyError::TimestampMalformed));
        assert_eq!(pairs("t=1,t=2,v1=00"), Err(VerifyError::TimestampMalformed));
        assert_eq!(pairs("t=1"), Err(VerifyError::SignatureUnknown));
    }
}
