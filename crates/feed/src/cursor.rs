//! A cursor: a place in one inbox's feed that only we can have given out.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pipeline::{InboxId, Seq, ServerKey};
use subtle::ConstantTimeEq;

/// The layout of the bytes: this number, the position (8 bytes, big endian), a
/// tag (16 bytes) over the layout, the inbox and the position. The inbox itself
/// is not in it, for the path names it already.
const LAYOUT: u8 = 1;

/// The cursor that says "after this position".
pub(crate) fn write(key: &ServerKey, inbox: &InboxId, after: Seq) -> String {
    let position = after.number().to_be_bytes();
    let tag = tag(key, inbox, position);
    URL_SAFE_NO_PAD.encode([&[LAYOUT][..], &position, &tag].concat())
}

/// The position that a cursor of this inbox stands for; nothing for any text
/// that [`write()`] has not made for it.
pub(crate) fn read(key: &ServerKey, inbox: &InboxId, text: &str) -> Option<Seq> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (&layout, rest) = bytes.split_first()?;
    let (&position, claimed) = rest.split_first_chunk::<8>()?;
    let is_ours = bool::from(claimed.ct_eq(&tag(key, inbox, position)));
    (layout == LAYOUT && is_ours).then(|| Seq::new(i64::from_be_bytes(position)))
}

fn tag(key: &ServerKey, inbox: &InboxId, position: [u8; 8]) -> [u8; 16] {
    key.tag(&[b"cursor", &[LAYOUT], inbox.as_str().as_bytes(), &position])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox(address: &str) -> InboxId {
        address.parse().unwrap()
    }

    #[test]
    fn a_cursor_reads_back_its_position() {
        let key = ServerKey::new([7; 32]);
        for number in [0, 1, i64::MAX] {
            let text = write(&key, &inbox("a@inbox.test"), Seq::new(number));
            assert_eq!(
                read(&key, &inbox("a@inbox.test"), &text),
                Some(Seq::new(number))
            );
        }
    }

    #[test]
    fn no_other_inbox_key_or_text_reads() {
        let key = ServerKey::new([7; 32]);
        let text = write(&key, &inbox("a@inbox.test"), Seq::new(3));
        assert_eq!(read(&key, &inbox("b@inbox.test"), &text), None);
        let other = ServerKey::new([8; 32]);
        assert_eq!(read(&other, &inbox("a@inbox.test"), &text), None);
        for odd in ["", "3", "AAAA", "' OR 1=1 --", &format!("{text}AAAA")] {
            assert_eq!(read(&key, &inbox("a@inbox.test"), odd), None, "{odd:?}");
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let key = ServerKey::new([7; 32]);
        let text = write(&key, &inbox("a@inbox.test"), Seq::new(3));
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut forged = bytes.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            let forged = URL_SAFE_NO_PAD.encode(forged);
            assert_eq!(read(&key, &inbox("a@inbox.test"), &forged), None);
        }
    }
}
