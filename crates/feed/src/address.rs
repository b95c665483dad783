//! Addresses that are made up here.

use pipeline::InboxId;

use crate::problem::Problem;
use crate::routes::Feed;

/// Without vowels and look-alikes: an address spells nothing and is read aloud
/// without mistakes. Sixteen of 28 letters hold 76 bits, so none is guessed.
const LETTERS: &[u8; 28] = b"bcdfghjkmnpqrstvwxz23456789-";
/// The last of the letters is the hyphen, which cannot begin or end a name.
const PLAIN_LETTERS: u128 = 27;
const ALL_LETTERS: u128 = 28;

/// A fresh address that nobody can guess.
pub(crate) fn fresh(feed: &Feed) -> Result<InboxId, Problem> {
    spelt(feed, rand::random())
}

fn spelt(feed: &Feed, mut number: u128) -> Result<InboxId, Problem> {
    let mut letter = |among: u128| {
        let place = usize::try_from(number % among).unwrap_or(0);
        number /= among;
        LETTERS.get(place).copied().map_or('x', char::from)
    };
    let mut name = String::from(letter(PLAIN_LETTERS));
    name.extend((0..14).map(|_| letter(ALL_LETTERS)));
    name.push(letter(PLAIN_LETTERS));
    let address = format!("{name}@{}", feed.deps.policy.mint_domain);
    address.parse().map_err(|_unfit| Problem::Internal)
}
