//! New random addresses.

use pipeline::InboxId;

use crate::http::problem::Problem;
use crate::state::Feed;

/// No vowels and no look-alikes: an address spells no word and can be read aloud
/// without mistakes. Sixteen of 28 characters hold 76 bits, too many to guess.
const ALPHABET: &[u8; 28] = b"bcdfghjkmnpqrstvwxz23456789-";
/// How many characters may begin or end a name, and how many may be inside it: the last
/// one is the hyphen.
const WITHOUT_HYPHEN: u128 = 27;
const WITH_HYPHEN: u128 = 28;

/// A new address that cannot be guessed, if mail to it can arrive.
pub(crate) fn new_address(feed: &Feed) -> Result<InboxId, Problem> {
    let domain = feed.deps.policy.mint_domain.as_deref();
    let domain = domain.ok_or(Problem::NoMailDomain)?;
    let mut number: u128 = rand::random();
    let mut next_character = |choices: u128| {
        let index = usize::try_from(number % choices).unwrap_or(0);
        number /= choices;
        ALPHABET.get(index).copied().map_or('x', char::from)
    };
    let mut name = String::from(next_character(WITHOUT_HYPHEN));
    name.extend((0..14).map(|_| next_character(WITH_HYPHEN)));
    name.push(next_character(WITHOUT_HYPHEN));
    let address = format!("{name}@{domain}");
    address.parse().map_err(|_invalid| Problem::Internal)
}
