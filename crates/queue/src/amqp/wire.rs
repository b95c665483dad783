//! The form of a notification in the broker: `{"v":1,"deliveries":["dlv_…"]}`.
//!
//! It holds only ids, so a reader of the broker learns that deliveries exist and
//! nothing about their content.

use pipeline::DeliveryId;
use serde::{Deserialize, Serialize};

/// Raised when an old reader would misread a new writer's message. Added fields need
/// no new version, because readers ignore unknown fields.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct OutgoingNotification<'a> {
    v: u32,
    deliveries: &'a [DeliveryId],
}

#[derive(Deserialize)]
struct IncomingNotification {
    v: u32,
    deliveries: Vec<String>,
}

/// The message is not a notification.
#[derive(Debug, thiserror::Error)]
pub(super) enum MalformedNotification {
    #[error("it is not a JSON object with a version and deliveries")]
    Json(#[source] serde_json::Error),
    #[error("its version is {0}")]
    Version(u32),
    #[error("one of its deliveries is not a delivery id")]
    Id(#[source] pipeline::IdError),
}

/// Writes a notification.
pub(super) fn write(deliveries: &[DeliveryId]) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&OutgoingNotification {
        v: VERSION,
        deliveries,
    })
}

/// Reads a notification.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<DeliveryId>, MalformedNotification> {
    let read: IncomingNotification =
        serde_json::from_slice(bytes).map_err(MalformedNotification::Json)?;
    if read.v != VERSION {
        return Err(MalformedNotification::Version(read.v));
    }
    read.deliveries
        .iter()
        .map(|id| id.parse().map_err(MalformedNotification::Id))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notification_round_trips_through_its_wire_form() {
        let deliveries = [DeliveryId::new(), DeliveryId::new()];
        let bytes = write(&deliveries).unwrap();
        assert_eq!(read(&bytes).unwrap(), deliveries);
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let bytes = br#"{"v":1,"deliveries":[],"trace":"abc"}"#;
        assert!(read(bytes).unwrap().is_empty());
    }

    #[test]
    fn malformed_messages_are_reported_by_kind() {
        let json = |text: &str| read(text.as_bytes()).unwrap_err();
        assert!(matches!(json("hello"), MalformedNotification::Json(_)));
        assert!(matches!(json("[]"), MalformedNotification::Json(_)));
        let later = json(r#"{"v":2,"deliveries":[]}"#);
        assert!(matches!(later, MalformedNotification::Version(2)));
        let other = json(r#"{"v":1,"deliveries":["msg_1"]}"#);
        assert!(matches!(other, MalformedNotification::Id(_)));
    }
}
