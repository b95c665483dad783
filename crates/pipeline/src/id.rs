//! Identifiers: a prefix that names the kind, and a time-ordered UUID. The prefix makes
//! an id in a log recognisable; the time order keeps new rows together in an index.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a `{prefix}…` id")]
pub struct IdError {
    /// The prefix that the id should have.
    pub prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id, ordered after those made before it.
            #[expect(clippy::new_without_default, reason = "each call returns a different id")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The UUID, as the database stores it.
            pub fn as_uuid(&self) -> Uuid {
                self.0
            }

            /// The id with this stored UUID.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0.simple())
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix($prefix)
                    .filter(|rest| rest.len() == 32)
                    .and_then(|rest| Uuid::try_parse(rest).ok())
                    .map(Self)
                    .ok_or(IdError { prefix: $prefix })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

id!(
    /// One delivery.
    DeliveryId,
    "dlv_"
);
id!(
    /// One message. This is our own id, not the mail's `Message-ID`.
    MessageId,
    "msg_"
);
id!(
    /// One artifact.
    ArtifactId,
    "art_"
);
id!(
    /// One attempt.
    AttemptId,
    "att_"
);
id!(
    /// One value that is sent to a callback.
    CallbackId,
    "cbk_"
);
id!(
    /// The fencing token of a claim. A worker whose lease has expired holds an old
    /// token, and the database refuses its writes.
    ClaimToken,
    "clm_"
);
id!(
    /// One process that polls.
    PollerId,
    "plr_"
);
id!(
    /// One send.
    SendId,
    "snd_"
);
id!(
    /// One guard. It is a row of the same table as a send.
    GuardId,
    "grd_"
);

id!(
    /// One thread of mails. It is derived from what the mails refer to.
    ThreadId,
    "thr_"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_id_parses_to_the_same_id() {
        let id = DeliveryId::new();
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn id_of_another_kind_is_refused() {
        let wrong: Result<ArtifactId, _> = DeliveryId::new().to_string().parse();
        assert_eq!(wrong, Err(IdError { prefix: "art_" }));
    }
}
