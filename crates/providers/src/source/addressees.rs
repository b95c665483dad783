//! To whom the mail of a source is addressed, besides its inboxes.

use std::collections::BTreeSet;

use pipeline::InboxId;

use crate::flaw::SourceFlaw;

/// The addresses in `To` and `Cc` that stand for any inbox of a source, because mail to
/// them is forwarded there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Addressees {
    /// Every address.
    Any,
    /// These addresses.
    These(BTreeSet<InboxId>),
}

impl Addressees {
    /// Reads the setting `addressed_to`.
    pub(crate) fn build(setting: &[String]) -> Result<Self, SourceFlaw> {
        if setting.iter().any(|entry| entry == "*") {
            return Ok(Self::Any);
        }
        let parse = |entry: &String| entry.parse().ok();
        let addresses: Option<BTreeSet<InboxId>> = setting.iter().map(parse).collect();
        let addresses = addresses.ok_or(SourceFlaw::Unusable("addressed_to"))?;
        Ok(Self::These(addresses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_accepts_every_address_and_other_text_is_refused() {
        let build = |entry: &str| Addressees::build(&[entry.to_owned()]);
        assert_eq!(build("*"), Ok(Addressees::Any));
        let own = "me@corp.test".parse().unwrap();
        assert_eq!(
            build("Me@Corp.test"),
            Ok(Addressees::These(BTreeSet::from([own])))
        );
        let refused = Err(SourceFlaw::Unusable("addressed_to"));
        assert_eq!(build("not an address"), refused);
    }
}
