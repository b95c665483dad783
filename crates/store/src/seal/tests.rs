use base64::Engine;

use super::*;

fn ring(keys: &[u8]) -> Keyring {
    let keys = keys.iter().map(|byte| SealKey::new([*byte; 32])).collect();
    Keyring::of(keys).unwrap()
}

fn sealed_by(ring: &Keyring, row: Row<'_>) -> Sealed {
    ring.sealing().seal(row, b"493817").unwrap()
}

#[test]
fn a_sealed_value_opens_and_does_not_contain_the_plain_one() {
    let ring = ring(&[7]);
    let row = Row::delivery(DeliveryId::new(), "dev");
    let sealed = sealed_by(&ring, row);
    assert_eq!(sealed.bytes.len() as u64, 6 + OVERHEAD);
    assert!(!sealed.bytes.windows(6).any(|six| six == b"493817"));
    let opened = ring.open(row, sealed.key.as_str(), &sealed.bytes).unwrap();
    assert_eq!(opened, b"493817");
    assert_ne!(sealed_by(&ring, row).bytes, sealed.bytes);
}

#[test]
fn only_a_body_is_packed_and_any_long_value_opens() {
    let ring = ring(&[7]);
    let text = b"<p>Your verification code is 493817.</p>".repeat(100);
    let body = Row::delivery(DeliveryId::new(), "dev");
    let value = Row::artifact(ArtifactId::from_uuid(Uuid::new_v4()), "dev");
    for (row, is_packed) in [(body, true), (value, false)] {
        let sealed = ring.sealing().seal(row, &text).unwrap();
        assert_eq!(sealed.bytes.len() < text.len() / 4, is_packed);
        let opened = ring.open(row, sealed.key.as_str(), &sealed.bytes).unwrap();
        assert_eq!(opened, text);
    }
}

/// A mail in base64 in JSON, as many providers post it.
fn post_in_base64() -> Vec<u8> {
    let mail = b"<p>Your verification code is 493817.</p>".repeat(100);
    let raw = base64::engine::general_purpose::STANDARD.encode(mail);
    format!(r#"{{"raw":"{raw}"}}"#).into_bytes()
}

#[test]
fn body_in_base64_is_decoded_before_it_is_packed() {
    let ring = ring(&[7]);
    let row = Row::delivery(DeliveryId::new(), "dev");
    let post = post_in_base64();
    let sealed = ring.sealing().seal(row, &post).unwrap();
    assert_eq!(sealed.bytes.first(), Some(&DECODED));
    assert!(sealed.bytes.len() < post.len() / 20);
    let opened = ring.open(row, sealed.key.as_str(), &sealed.bytes).unwrap();
    assert_eq!(opened, post);
}

#[test]
fn base64_that_does_not_pack_is_decoded_all_the_same() {
    let ring = ring(&[7]);
    let row = Row::delivery(DeliveryId::new(), "dev");
    let noise: Vec<u8> = (0..60_000).map(|_| rand::random()).collect();
    let raw = base64::engine::general_purpose::STANDARD.encode(noise);
    let post = format!(r#"{{"raw":"{raw}"}}"#).into_bytes();
    let sealed = ring.sealing().seal(row, &post).unwrap();
    assert!(sealed.bytes.len() < post.len() / 5 * 4);
    let opened = ring.open(row, sealed.key.as_str(), &sealed.bytes).unwrap();
    assert_eq!(opened, post);
}

#[test]
fn value_with_another_layout_does_not_open() {
    let ring = ring(&[7]);
    let row = Row::delivery(DeliveryId::new(), "dev");
    for plain in [b"493817".to_vec(), b"493817".repeat(100), post_in_base64()] {
        let sealed = ring.sealing().seal(row, &plain).unwrap();
        for layout in [0, PLAIN, PACKED, DECODED, 4] {
            let mut forged = sealed.bytes.clone();
            forged[0] = layout;
            let opened = ring.open(row, sealed.key.as_str(), &forged);
            assert_eq!(opened.is_ok(), forged == sealed.bytes, "{layout}");
        }
    }
}

#[test]
fn a_value_opens_only_in_its_own_row() {
    let ring = ring(&[7]);
    let (id, other) = (Uuid::new_v4(), Uuid::new_v4());
    let delivery = |id, source| Row::delivery(DeliveryId::from_uuid(id), source);
    let sealed = sealed_by(&ring, delivery(id, "a"));
    let wrong = [
        delivery(other, "a"),
        delivery(id, "b"),
        Row::artifact(ArtifactId::from_uuid(id), "a"),
    ];
    for row in wrong {
        let opened = ring.open(row, sealed.key.as_str(), &sealed.bytes);
        assert!(matches!(opened, Err(Fault::Damaged(_))), "{row:?}");
    }
}

#[test]
fn rows_with_equal_joined_fields_have_different_associated_data() {
    let key = SealKey::new([7; 32]);
    let row = |table, owner| Row {
        table,
        id: Uuid::nil(),
        owner,
        is_body: false,
    };
    let one = row("a", "bc").associated(PLAIN, key.id());
    assert_ne!(one, row("ab", "c").associated(PLAIN, key.id()));
}

#[test]
fn a_changed_bit_or_a_missing_byte_does_not_open() {
    let ring = ring(&[7]);
    let row = Row::delivery(DeliveryId::new(), "dev");
    let sealed = sealed_by(&ring, row);
    for bit in 0..sealed.bytes.len() * 8 {
        let mut forged = sealed.bytes.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(ring.open(row, sealed.key.as_str(), &forged).is_err());
    }
    for length in 0..sealed.bytes.len() {
        let cut = &sealed.bytes[..length];
        assert!(ring.open(row, sealed.key.as_str(), cut).is_err());
    }
}

#[test]
fn value_is_not_opened_by_another_key_whatever_its_name() {
    let row = Row::delivery(DeliveryId::new(), "dev");
    let sealed = sealed_by(&ring(&[7]), row);
    let other = ring(&[8]);
    let unknown = other.open(row, sealed.key.as_str(), &sealed.bytes);
    assert!(matches!(unknown, Err(Fault::KeyUnknown(_))));
    let misnamed = other.open(row, other.sealing().id().as_str(), &sealed.bytes);
    assert!(matches!(misnamed, Err(Fault::Damaged(_))));
}

#[test]
fn the_first_key_seals_and_all_open() {
    let row = Row::delivery(DeliveryId::new(), "dev");
    let before = sealed_by(&ring(&[1]), row);
    let both = ring(&[2, 1]);
    let after = sealed_by(&both, row);
    assert_ne!(before.key, after.key);
    for sealed in [before, after] {
        let opened = both.open(row, sealed.key.as_str(), &sealed.bytes);
        assert_eq!(opened.unwrap(), b"493817");
    }
}
