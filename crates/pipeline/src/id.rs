//! Identifiers: a kind in front, a time-ordered UUID behind, so that a stray id
//! in a log says what it is and rows land near each other in an index.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a `{prefix}…` id")]
pub struct IdError {
    /// What the id should have begun with.
    pub prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id, later in order than those minted before it.
            #[expect(clippy::new_without_default, reason = "two defaults would differ")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The bare UUID, as the databases keep it.
            pub fn as_uuid(&self) -> Uuid {
                self.0
            }

            /// The id behind a stored UUID.
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
    /// One message, as we number it; not the mail's own `Message-ID`.
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
    /// One value on its way to a callback.
    CallbackId,
    "cbk_"
);
id!(
    /// The fencing token of a claim: a worker whose lease has passed holds an
    /// old one, and the database refuses whatever it still tries to write.
    ClaimToken,
    "clm_"
);
id!(
    /// One process that polls.
    PollerId,
    "plr_"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_what_it_prints() {
        let id = DeliveryId::new();
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let wrong: Result<ArtifactId, _> = DeliveryId::new().to_string().parse();
        assert_eq!(wrong, Err(IdError { prefix: "art_" }));
    }
}
