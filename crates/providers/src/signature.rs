//! The signature header: what it lists, in which form, and its limits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::VerifyError;

/// A signature header is never longer than this.
const MOST_BYTES: usize = 1024;
/// A signature header never lists more than this; every one costs a comparison.
const MOST_SIGNATURES: usize = 10;

/// How a signature header lists its signatures.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// One signature behind a prefix: `sha256=…`, or nothing in front.
    Single {
        /// What stands before the signature.
        prefix: String,
        /// How the signature is written.
        encoding: Encoding,
    },
    /// Signatures parted by single spaces: `v1,… v1a,…`. Those with another
    /// prefix are of versions we do not know and are passed over.
    List {
        /// What stands before each signature of the known version.
        prefix: String,
        /// How a signature is written.
        encoding: Encoding,
    },
    /// Pairs parted by commas, the timestamp among them: `t=…,v1=…,v1=…`.
    Pairs {
        /// The name of the timestamp, which comes once.
        timestamp: String,
        /// The name of the signatures, of which there may be several.
        signature: String,
        /// How a signature is written.
        encoding: Encoding,
    },
}

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Lower-case hexadecimal, and no other case: one MAC has one spelling.
    Hex,
    /// Base64 with the standard alphabet and its padding.
    Base64,
}

impl Encoding {
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => hex(text),
            Self::Base64 => STANDARD.decode(text).ok(),
        }
    }

    pub(crate) fn encode(self, mac: &[u8]) -> String {
        match self {
            Self::Hex => mac
                .iter()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .filter_map(|digit| char::from_digit(u32::from(digit), 16))
                .collect(),
            Self::Base64 => STANDARD.encode(mac),
        }
    }
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

fn hex(text: &str) -> Option<Vec<u8>> {
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?))
        .collect()
}

/// What a signature header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    /// Every signature of the known form, decoded.
    pub(crate) signatures: Vec<Vec<u8>>,
    /// The timestamp, if it stands in this header.
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
    fn unknown_versions_are_passed_over() {
        assert_eq!(list("v1a,AAAA v1,AQID"), Ok(vec![vec![1, 2, 3]]));
        assert_eq!(list("v2,AQID"), Err(VerifyError::SignatureUnknown));
    }

    #[test]
    fn only_strict_base64_counts() {
        for bad in ["v1,AQI", "v1,AQI=\n", "v1,_-8=", "v1,=", "v1", "V1,AQID"] {
            assert_eq!(list(bad), Err(VerifyError::SignatureUnknown), "{bad:?}");
        }
        assert_eq!(list("v1,"), Ok(vec![vec![]]), "an empty one matches no MAC");
    }

    #[test]
    fn only_whole_lower_case_hex_counts() {
        assert_eq!(Encoding::Hex.decode("00ff1a"), Some(vec![0, 255, 26]));
        for bad in ["0", "00FF", "0g", "0x00", " 00", "é0"] {
            assert_eq!(Encoding::Hex.decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_list_is_bounded_by_count_and_by_bytes() {
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
    fn pairs_have_one_timestamp_and_some_signatures() {
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
