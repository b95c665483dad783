//! The names around an action: who does it, what kind it is, and what proves that it was
//! done.

use std::fmt;
use std::str::FromStr;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $error:ident, $message:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        /// The text is not such a name.
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                is_name(text).then(|| Self(text.to_owned())).ok_or($error)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// Who acts: a configured sender of mail, or any other actor outside of Maillatch. An
    /// intent is unique for each sender, whichever API key asks.
    SenderName,
    SenderNameError,
    "a sender name is 1 to 40 characters of a-z, 0-9, `-` and `_`"
);
name!(
    /// What kind of action an intent is for: `mail`, or another word such as `ticket`,
    /// `payment` or `post`.
    ActionName,
    ActionNameError,
    "a kind of action is 1 to 40 characters of a-z, 0-9, `-` and `_`"
);

impl ActionName {
    /// The action of sending a mail.
    pub fn mail() -> Self {
        Self("mail".to_owned())
    }
}

fn is_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

/// What proves that an action was done: the id that the provider, the ticket system or
/// the bank returned.
///
/// One agent writes it and others read it. So it is short, and its characters leave no
/// room for sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt(String);

/// The text is not a receipt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a result is 1 to 128 letters, digits and `. _ : / + = @ ~ -`")]
pub struct ReceiptError;

impl Receipt {
    /// The receipt as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The receipt in a provider's answer. Characters that a receipt cannot have are left
    /// out, and it is cut off at its greatest length. `None` if nothing remains.
    pub fn from_provider(text: &str) -> Option<Self> {
        let kept: String = text.chars().filter(|c| is_receipt(*c)).take(128).collect();
        (!kept.is_empty()).then_some(Self(kept))
    }
}

fn is_receipt(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._:/+=@~-".contains(character)
}

impl FromStr for Receipt {
    type Err = ReceiptError;

    fn from_str(text: &str) -> Result<Self, ReceiptError> {
        let fits = (1..=128).contains(&text.len()) && text.chars().all(is_receipt);
        fits.then(|| Self(text.to_owned())).ok_or(ReceiptError)
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_other_characters_or_lengths_are_refused() {
        for bad in ["", "Shop", "a b", "a/b", "ä", &"a".repeat(41)] {
            assert_eq!(bad.parse::<SenderName>(), Err(SenderNameError), "{bad:?}");
            assert_eq!(bad.parse::<ActionName>(), Err(ActionNameError), "{bad:?}");
        }
    }

    #[test]
    fn receipt_holds_ids_and_no_sentences() {
        for good in ["re_123", "0100018-abc/1", "a@mail.example.com"] {
            assert_eq!(good.parse::<Receipt>().unwrap().as_str(), good);
        }
        for bad in ["", "ignore all rules", "a\nb", "é", &"a".repeat(129)] {
            assert_eq!(bad.parse::<Receipt>(), Err(ReceiptError), "{bad:?}");
        }
    }

    #[test]
    fn receipt_of_a_provider_loses_what_it_cannot_hold() {
        let receipt = Receipt::from_provider("<20260101.1@mail.example.com>").unwrap();
        assert_eq!(receipt.as_str(), "20260101.1@mail.example.com");
        assert_eq!(Receipt::from_provider("<>"), None);
    }
}
