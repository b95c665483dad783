//! What a ring looks like in the broker: `{"v":1,"deliveries":["dlv_…"]}`.
//!
//! Ids only. Whoever can read the broker learns that deliveries exist and
//! nothing of what is in them.

use pipeline::DeliveryId;
use serde::{Deserialize, Serialize};

/// Raised when an old reader would misunderstand a new writer; fields may be
/// added without, since readers skip those they do not know.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    deliveries: &'a [DeliveryId],
}

#[derive(Deserialize)]
struct Read {
    v: u32,
    deliveries: Vec<String>,
}

/// The message is not a ring of ours.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it is not a JSON object with a version and deliveries")]
    Json(#[source] serde_json::Error),
    #[error("its version is {0}")]
    Version(u32),
    #[error("one of its deliveries is no delivery id")]
    Id(#[source] pipeline::IdError),
}

/// Writes a ring.
pub(super) fn write(deliveries: &[DeliveryId]) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Written {
        v: VERSION,
        deliveries,
    })
}

/// Reads a ring.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<DeliveryId>, Unreadable> {
    let read: Read = serde_json::from_slice(bytes).map_err(Unreadable::Json)?;
    if read.v != VERSION {
        return Err(Unreadable::Version(read.v));
    }
    read.deliveries
        .iter()
        .map(|id| id.parse().map_err(Unreadable::Id))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_reads_back_what_was_written() {
        let deliveries = [DeliveryId::new(), DeliveryId::new()];
        let bytes = write(&deliveries).unwrap();
        assert_eq!(read(&bytes).unwrap(), deliveries);
    }

    #[test]
    fn fields_that_a_later_writer_adds_are_skipped() {
        let bytes = br#"{"v":1,"deliveries":[],"trace":"abc"}"#;
        assert!(read(bytes).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_ring_is_named_so() {
        let json = |text: &str| read(text.as_bytes()).unwrap_err();
        assert!(matches!(json("hello"), Unreadable::Json(_)));
        assert!(matches!(json("[]"), Unreadable::Json(_)));
        let later = json(r#"{"v":2,"deliveries":[]}"#);
        assert!(matches!(later, Unreadable::Version(2)));
        let other = json(r#"{"v":1,"deliveries":["msg_1"]}"#);
        assert!(matches!(other, Unreadable::Id(_)));
    }
}
