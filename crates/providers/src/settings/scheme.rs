//! How the sender of a generic source signs, and where it puts the mail.

use serde::Deserialize;

/// How a sender signs with a shared secret. Settings that are left out have the
/// provider's preset.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeSettings {
    /// The header that holds the signatures.
    pub signature_header: Option<String>,
    /// The header that holds the time of signing.
    pub timestamp_header: Option<String>,
    /// The header that holds the delivery's id.
    pub id_header: Option<String>,
    /// Where the body holds the delivery's id, as a dotted path.
    pub id_field: Option<String>,
    /// What is signed: a template of `{id}`, `{timestamp}` and `{body}`.
    pub signed: Option<String>,
    /// `single`, `list` (separated by spaces) or `pairs` (`t=…,v1=…`).
    pub layout: Option<String>,
    /// The text before each signature; for `pairs` the signature's name.
    pub prefix: Option<String>,
    /// `hex` or `base64`.
    pub encoding: Option<String>,
    /// `seconds` or `milliseconds`.
    pub unit: Option<String>,
    /// `literal`, or `base64` after an optional `whsec_`.
    pub key: Option<String>,
    /// The hash inside the MAC: `sha256`, `sha1` or `sha512`.
    pub digest: Option<String>,
}

impl SchemeSettings {
    /// These settings, with `preset` for those that are left out.
    pub(crate) fn or(self, preset: Self) -> Self {
        Self {
            signature_header: self.signature_header.or(preset.signature_header),
            timestamp_header: self.timestamp_header.or(preset.timestamp_header),
            id_header: self.id_header.or(preset.id_header),
            id_field: self.id_field.or(preset.id_field),
            signed: self.signed.or(preset.signed),
            layout: self.layout.or(preset.layout),
            prefix: self.prefix.or(preset.prefix),
            encoding: self.encoding.or(preset.encoding),
            unit: self.unit.or(preset.unit),
            key: self.key.or(preset.key),
            digest: self.digest.or(preset.digest),
        }
    }
}

/// Where a JSON body holds a mail, as dotted paths.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadSettings {
    /// The recipients of the envelope: one text or a list.
    pub recipients: String,
    /// The message. Without it, `text` or `html` is needed.
    pub raw: Option<String>,
    /// The plain text, if the body holds parsed fields.
    pub text: Option<String>,
    /// The HTML, if the body holds parsed fields.
    pub html: Option<String>,
    /// The sender, for a message rebuilt from parsed fields.
    pub from: Option<String>,
    /// The subject, for a message rebuilt from parsed fields.
    pub subject: Option<String>,
    /// How the message is written.
    #[serde(default)]
    pub encoding: RawForm,
    /// When the sender received the mail, by its own clock and not by the mail's
    /// headers: RFC 3339, or seconds or milliseconds since the epoch.
    pub received_at: Option<String>,
    /// Which event is inbound mail; others are ignored. If left out, every post is.
    pub event: Option<String>,
    /// Where the body holds the event's name.
    #[serde(default = "event_field")]
    pub event_field: String,
}

fn event_field() -> String {
    "type".to_owned()
}

/// How a message is written into JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawForm {
    /// In base64.
    #[default]
    Base64,
    /// As text.
    Text,
}
