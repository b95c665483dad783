//! The format of an API key: `mlk_ID_SECRET_CHECKSUM`.
//!
//! The prefix lets secret scanners recognize a leaked key. The id finds its row and
//! is not secret. The secret is 43 of 62 characters, 256 bits. The checksum covers
//! everything before it, so a mistyped or truncated key is refused without asking
//! the database. Only the hash in the database proves that a key is genuine.

use rand::RngExt;
use rand::distr::Alphanumeric;
use sha2::{Digest, Sha256};

/// What every token begins with.
pub(super) const PREFIX: &str = "mlk_";
/// The lengths of the parts of a token, in characters.
const ID_LENGTH: usize = 10;
const SECRET_LENGTH: usize = 43;
const CHECKSUM_LENGTH: usize = 6;

/// The digits of the checksum: the characters that the other parts consist of.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new random id and the token that carries it.
pub(super) fn generate() -> (String, String) {
    let id = random(ID_LENGTH);
    let body = format!("{PREFIX}{id}_{}", random(SECRET_LENGTH));
    let token = format!("{body}_{}", checksum(&body));
    (id, token)
}

/// The id in a well-formed token with a right checksum; `None` for any other text.
pub(super) fn id_of(token: &str) -> Option<&str> {
    let (body, claimed) = token.rsplit_once('_')?;
    let (id, secret) = body.strip_prefix(PREFIX)?.split_once('_')?;
    let is_plain = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let is_well_formed = is_plain(id, ID_LENGTH) && is_plain(secret, SECRET_LENGTH);
    (is_well_formed && claimed == checksum(body)).then_some(id)
}

/// The SHA-256 of a token. The server keeps nothing else of it.
pub(super) fn sha256(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// `length` random letters and digits.
pub(super) fn random(length: usize) -> String {
    let letters = rand::rng().sample_iter(Alphanumeric).take(length);
    letters.map(char::from).collect()
}

/// Six base-62 digits that hold 32 bits of a digest.
fn checksum(body: &str) -> String {
    let [a, b, c, d, ..] = sha256(body);
    let mut rest = u32::from_be_bytes([a, b, c, d]);
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        let value = usize::try_from(rest % 62).unwrap_or(0);
        *digit = DIGITS.get(value).copied().unwrap_or(b'0');
        rest /= 62;
    }
    digits.map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_token_contains_its_id() {
        let (id, token) = generate();
        assert_eq!(id_of(&token), Some(id.as_str()));
        let length = PREFIX.len() + ID_LENGTH + 1 + SECRET_LENGTH + 1 + CHECKSUM_LENGTH;
        assert_eq!(token.len(), length);
    }

    #[test]
    fn token_with_one_changed_character_is_refused() {
        let (_, token) = generate();
        for place in 0..token.len() {
            let mut changed = token.as_bytes().to_vec();
            changed[place] = if changed[place] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(id_of(&changed), None, "{changed}");
        }
        assert_eq!(id_of(token.strip_suffix(|_: char| true).unwrap()), None);
        assert_eq!(id_of(&format!("{token}0")), None);
    }
}
