//! Vectors that were computed independently, with Python.

use super::*;

fn intent(kind: &str, entity: &str, to: &str, version: u32) -> Intent {
    let label = IntentLabel {
        kind: kind.to_owned(),
        entity: entity.to_owned(),
        version,
    };
    Intent::new(label, Some(to.parse().unwrap())).unwrap()
}

fn order(to: &str, version: u32) -> Intent {
    intent("order.confirmation", "order_4821", to, version)
}

fn secret() -> ServerKey {
    let mut bytes = [0; 32];
    for (byte, number) in bytes.iter_mut().zip(0..) {
        *byte = number;
    }
    ServerKey::new(bytes)
}

fn key(intent: &Intent) -> ProviderKey {
    let shop = "shop".parse().unwrap();
    ProviderKey::derive(&secret(), &ActionName::mail(), &shop, intent)
}

#[test]
fn digests_of_intents_match_the_vectors() {
    for (intent, digest) in [
        (
            order("user@example.com", 1),
            "a1eb97eea2d6a787fd05665749830eb217b3b115882a0b4e9c3c2e7f8e3e706e",
        ),
        (
            order("user@example.com", 2),
            "987ee6eef553fb172041e9ae7565d95cbafe84bad27cfbc104815f818191a881",
        ),
        (
            order("User@BÜCHER.example", 1),
            "f188c328cf238555faa03cdabe78f370e6c003cb74b82bdc5c7e679c19a93c82",
        ),
        (
            intent("reply", "msg_01", "user@example.com", 1),
            "87b06ded3ced388504396e2b1ebfa32a6ed9dc3028cb69cba7118a9b7095136f",
        ),
    ] {
        assert_eq!(hex(&intent.digest()), digest, "{intent:?}");
    }
}

#[test]
fn json_with_spaces_gives_another_digest() {
    let spaced = "ad6f742c55fac5e1e73bae790c77210d33c4f0914de8ce6dbd9e0a35fd7e0b11";
    assert_ne!(hex(&order("user@example.com", 1).digest()), spaced);
}

#[test]
fn provider_keys_match_the_vectors() {
    for (intent, expected) in [
        (
            order("user@example.com", 1),
            "ml-a7fb0122d768f3df100ac98a92769787bf9a70e2408260368e62ecd3534ee395",
        ),
        (
            order("user@example.com", 2),
            "ml-7ff37259f31ca72402655b3ac0d21cc513a934f8736046ea131f457ce7c672ab",
        ),
        (
            intent("reply", "msg_01", "user@example.com", 1),
            "ml-90a19c76327a9454cec195222e80f61770be230420fa90b381b831f5bc644c7e",
        ),
    ] {
        let key = key(&intent);
        assert_eq!(key.to_string(), expected);
        assert_eq!(key.to_string().len(), 67);
    }
}

#[test]
fn intent_key_uuid_and_message_id_come_from_the_first_16_bytes() {
    let a = key(&order("user@example.com", 1));
    assert_eq!(hex(&a.intent_key()), "a7fb0122d768f3df100ac98a92769787");
    let uuid = a.as_uuid().to_string();
    assert_eq!(uuid, "a7fb0122-d768-83df-900a-c98a92769787");
    let reply = key(&intent("reply", "msg_01", "user@example.com", 1));
    assert_eq!(
        reply.message_id("mail.example.com"),
        "ml.90a19c76327a9454cec195222e80f617@mail.example.com"
    );
}

#[test]
fn sender_action_and_secret_each_change_the_key() {
    let intent = order("user@example.com", 1);
    let derive = |server: &ServerKey, action: &str, sender: &str| {
        let (action, sender) = (action.parse().unwrap(), sender.parse().unwrap());
        ProviderKey::derive(server, &action, &sender, &intent).to_string()
    };
    let keys = [
        derive(&secret(), "mail", "shop"),
        derive(&secret(), "mail", "other"),
        derive(&secret(), "payment", "shop"),
        derive(&secret(), "ticket", "shop"),
        derive(&ServerKey::new([7; 32]), "mail", "shop"),
    ];
    let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
}

#[test]
fn explicit_key_and_described_intent_never_share_a_digest() {
    let described = order("user@example.com", 1);
    let explicit = Intent::from_key("order_4821").unwrap();
    assert_ne!(described.digest(), explicit.digest());
    assert_eq!(explicit.label(), None);
}

#[test]
fn parts_with_other_characters_are_refused() {
    let label = |kind: &str, entity: &str, version| IntentLabel {
        kind: kind.to_owned(),
        entity: entity.to_owned(),
        version,
    };
    for (label, why) in [
        (label("", "a", 1), IntentError::Kind),
        (label("Order", "a", 1), IntentError::Kind),
        (label("order", "", 1), IntentError::Entity),
        (label("order", "a b", 1), IntentError::Entity),
        (label("order", "user@example.com", 1), IntentError::Entity),
        (label("order", &"a".repeat(129), 1), IntentError::Entity),
        (label("order", "a", 0), IntentError::Version),
    ] {
        assert_eq!(Intent::new(label, None), Err(why));
    }
    assert_eq!(Intent::from_key("a b"), Err(IntentError::Key));
}
