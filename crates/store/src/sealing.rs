//! The columns that are sealed, and the statements that read and reseal them.

/// A column that is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// The bodies of deliveries.
    Bodies,
    /// The values of artifacts.
    Values,
    /// The recipients and the rendered bytes of sends.
    SendContents,
    /// What replies repeat of the messages that they answer.
    ReplyContexts,
}

impl Sealing {
    /// All sealed columns.
    pub const ALL: [Self; 4] = [
        Self::Bodies,
        Self::Values,
        Self::SendContents,
        Self::ReplyContexts,
    ];

    /// The rows after an id that are not sealed under a key, in the order of their ids.
    pub(crate) fn older(self) -> &'static str {
        match self {
            Self::Bodies => {
                "SELECT id, source AS owner, body_key AS key, body AS sealed FROM deliveries
             WHERE id > $1 AND body_key <> $2 ORDER BY id LIMIT $3"
            }
            Self::Values => {
                "SELECT id, inbox AS owner, value_key AS key, value AS sealed FROM artifacts
             WHERE id > $1 AND value_key <> $2 ORDER BY id LIMIT $3"
            }
            Self::SendContents => {
                "SELECT id, sender AS owner, content_key AS key, content AS sealed FROM sends
             WHERE id > $1 AND content_key <> $2 ORDER BY id LIMIT $3"
            }
            Self::ReplyContexts => {
                "SELECT message_id AS id, inbox AS owner, content_key AS key, content AS sealed FROM handlings
             WHERE message_id > $1 AND content_key <> $2 ORDER BY message_id LIMIT $3"
            }
        }
    }

    /// The newest rows that still have their sealed value.
    pub(crate) fn newest(self) -> &'static str {
        match self {
            Self::Bodies => {
                "SELECT id, source AS owner, body_key AS key, body AS sealed FROM deliveries
             WHERE body_key IS NOT NULL ORDER BY id DESC LIMIT $1"
            }
            Self::Values => {
                "SELECT id, inbox AS owner, value_key AS key, value AS sealed FROM artifacts
             WHERE value_key IS NOT NULL ORDER BY id DESC LIMIT $1"
            }
            Self::SendContents => {
                "SELECT id, sender AS owner, content_key AS key, content AS sealed FROM sends
             WHERE content_key IS NOT NULL ORDER BY id DESC LIMIT $1"
            }
            Self::ReplyContexts => {
                "SELECT message_id AS id, inbox AS owner, content_key AS key, content AS sealed FROM handlings
             WHERE content_key IS NOT NULL ORDER BY message_id DESC LIMIT $1"
            }
        }
    }

    /// Replaces the sealed value of a row, if it is still sealed under the key that was read.
    pub(crate) fn update(self) -> &'static str {
        match self {
            Self::Bodies => {
                "UPDATE deliveries SET body = $3, body_key = $4 WHERE id = $1 AND body_key = $2"
            }
            Self::Values => {
                "UPDATE artifacts SET value = $3, value_key = $4 WHERE id = $1 AND value_key = $2"
            }
            Self::SendContents => {
                "UPDATE sends SET content = $3, content_key = $4
             WHERE id = $1 AND content_key = $2"
            }
            Self::ReplyContexts => {
                "UPDATE handlings SET content = $3, content_key = $4
             WHERE message_id = $1 AND content_key = $2"
            }
        }
    }

    /// How many rows are sealed under which key.
    pub(crate) fn by_key(self) -> &'static str {
        match self {
            Self::Bodies => {
                "SELECT body_key, count(*) FROM deliveries WHERE body_key IS NOT NULL
             GROUP BY body_key"
            }
            Self::Values => {
                "SELECT value_key, count(*) FROM artifacts WHERE value_key IS NOT NULL
             GROUP BY value_key"
            }
            Self::SendContents => {
                "SELECT content_key, count(*) FROM sends WHERE content_key IS NOT NULL
             GROUP BY content_key"
            }
            Self::ReplyContexts => {
                "SELECT content_key, count(*) FROM handlings WHERE content_key IS NOT NULL
             GROUP BY content_key"
            }
        }
    }
}
