//! Any sender that signs the body with a shared secret and sends the signature in headers.
//! Everything is a setting.
//!
//! Request: the header `scheme.signature_header`, and the headers of time and id if they
//! are configured. The id may also be in the body (`scheme.id_field`). An id that is signed
//! is the key of the delivery; otherwise the content is. What is signed, how the signature is written, the unit of the time,
//! how the secret is read and the hash are settings, too. The body is JSON: Maillatch's own
//! payload, or one that `payload` describes.
//!
//! ```toml
//! [source.shop]
//! provider = "generic"
//! secrets = ["…"]
//! [source.shop.scheme]
//! signature_header = "X-Signature"
//! timestamp_header = "X-Timestamp"
//! signed = "{timestamp}.{body}"
//! prefix = "sha256="
//! [source.shop.payload]
//! recipients = "message.to"
//! raw = "message.source"
//! encoding = "text"
//! received_at = "message.received"
//! ```
//!
//! A sender of parsed fields is mapped with `text`, `html`, `from` and `subject` instead of
//! `raw`; then the message is rebuilt.
//!
//! Received: the field that `payload.received_at` names. It must hold the sender's own time
//! and not one of the mail's headers. Maillatch's own payload has `timestamp`.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | not known | none |
//! | 401 | not proven or stale | not known: it depends on the sender | none |
//! | 413 | too large | not known: it depends on the sender | none |
//! | 503 | not stored | not known: it depends on the sender | none |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add generic` prints.

mod template;

use std::time::Duration;

use serde_json::Value;

use super::native;
use crate::contract::answers::Answers;
use crate::contract::sample::Shape;
use crate::contract::source_add::Ask;
use crate::contract::symmetric::{Decoder, Symmetric};
use crate::contract::{Contract, Handshake, Posts, Provider, tolerance};
use crate::encoding::Encoding;
use crate::flaw::SourceFlaw;
use crate::payload;
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::{DecodeError, Decoded, json};
use crate::proof::Coverage;
use crate::proof::freshness::Unit;
use crate::proof::identity::Identity;
use crate::proof::key::{Digest, KeyForm, Keys};
use crate::proof::scheme::{Family, Part, Scheme, Stamp};
use crate::proof::signature::Layout;
use crate::settings::{PayloadSettings, RawForm, SchemeSettings, Setting, SourceSettings};
use template::template;

pub(crate) const CONTRACT: Contract = Contract {
    name: "generic",
    source_name: "generic",
    posts: Posts::Original,
    polling: None,
    asks: &[
        Ask::MintSecret,
        Ask::Set("scheme.signature_header", "\"X-Signature\""),
    ],
    answers: Answers::PLAIN,
    setup: &[
        "Set `scheme` to what the sender signs and how it writes it.",
        "Set `payload` to where the sender puts the recipients and the message.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: TAKES,
    build: |settings| build(settings, SchemeSettings::default()),
};

/// The settings that every provider of this kind takes.
pub(super) const TAKES: &[Setting] = &[
    Setting::Secrets,
    Setting::Tolerance,
    Setting::Scheme,
    Setting::Payload,
];

/// A source with any symmetric scheme; `preset` fills in the settings that are left out.
pub(super) fn build(
    settings: &SourceSettings,
    preset: SchemeSettings,
) -> Result<Box<dyn Provider>, SourceFlaw> {
    let own = settings.scheme.clone().unwrap_or_default().or(preset);
    let form = match own.key.as_deref() {
        None | Some("literal") => KeyForm::Literal,
        Some("base64") => KeyForm::Whsec,
        Some(_) => return Err(SourceFlaw::Scheme("`key` is `literal` or `base64`")),
    };
    let digest = match own.digest.as_deref() {
        None | Some("sha256") => Digest::Sha256,
        Some("sha1") => Digest::Sha1,
        Some("sha512") => Digest::Sha512,
        Some(_) => {
            let flaw = "`digest` is `sha256`, `sha1` or `sha512`";
            return Err(SourceFlaw::Scheme(flaw));
        }
    };
    let scheme = scheme(settings, &own)?;
    let identity = match &own.id_field {
        Some(path) => Identity::Field(path.split('.').map(str::to_owned).collect()),
        // An id that is not signed could be changed to store a replay again.
        None if scheme.signed.contains(&Part::Id) => Identity::Header,
        None => Identity::Content,
    };
    Ok(Box::new(Symmetric {
        scheme,
        keys: Keys::new(&settings.secrets, form, digest)?,
        identity,
        decoder: decoder(settings.payload.clone())?,
        // A mapping only says where fields are, so no sample can be built from it.
        shape: settings.payload.is_none().then_some(Shape::native),
    }))
}

fn scheme(settings: &SourceSettings, own: &SchemeSettings) -> Result<Scheme, SourceFlaw> {
    let signature = own.signature_header.clone();
    let signed = template(own.signed.as_deref().unwrap_or("{body}"))?;
    let layout = layout(own)?;
    let is_timed = own.timestamp_header.is_some() || matches!(layout, Layout::Pairs { .. });
    if signed.contains(&Part::Timestamp) != is_timed {
        return Err(SourceFlaw::Scheme(
            "a timestamp must be both sent and signed, or neither",
        ));
    }
    if signed.contains(&Part::Id) && own.id_header.is_none() {
        return Err(SourceFlaw::Scheme("a signed `{id}` needs an `id_header`"));
    }
    let unit = match own.unit.as_deref() {
        None | Some("seconds") => Unit::Seconds,
        Some("milliseconds") => Unit::Millis,
        Some(_) => return Err(SourceFlaw::Scheme("`unit` is `seconds` or `milliseconds`")),
    };
    let tolerance = tolerance(
        settings,
        Duration::from_mins(5),
        Duration::from_secs(30),
        Duration::from_hours(72),
    )?;
    Ok(Scheme {
        families: vec![Family {
            id: own.id_header.clone(),
            timestamp: own.timestamp_header.clone(),
            signature: signature.ok_or(SourceFlaw::Scheme("a `signature_header` is needed"))?,
        }],
        layout,
        signed,
        stamp: is_timed.then_some(Stamp { unit, tolerance }),
    })
}

fn layout(own: &SchemeSettings) -> Result<Layout, SourceFlaw> {
    let encoding = match own.encoding.as_deref() {
        None | Some("hex") => Encoding::Hex,
        Some("base64") => Encoding::Base64,
        Some(_) => return Err(SourceFlaw::Scheme("`encoding` is `hex` or `base64`")),
    };
    let prefix = own.prefix.clone().unwrap_or_default();
    match own.layout.as_deref() {
        None | Some("single") => Ok(Layout::Single { prefix, encoding }),
        Some("list") => Ok(Layout::List { prefix, encoding }),
        Some("pairs") => Ok(Layout::Pairs {
            timestamp: "t".to_owned(),
            signature: own.prefix.clone().unwrap_or_else(|| "v1".to_owned()),
            encoding,
        }),
        Some(_) => Err(SourceFlaw::Scheme(
            "`layout` is `single`, `list` or `pairs`",
        )),
    }
}

fn decoder(payload: Option<PayloadSettings>) -> Result<Decoder, SourceFlaw> {
    let Some(mapping) = payload else {
        return Ok(Box::new(native::decode));
    };
    let has_fields = mapping.text.is_some() || mapping.html.is_some();
    if mapping.raw.is_some() == has_fields {
        return Err(SourceFlaw::Unusable(
            "payload`: set `raw`, or `text` and `html",
        ));
    }
    Ok(Box::new(move |_, body| mapped(&mapping, body)))
}

fn mapped(mapping: &PayloadSettings, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    if let Some(wanted) = &mapping.event
        && find(&event, &mapping.event_field).and_then(Value::as_str) != Some(wanted)
    {
        return Ok(Decoded::other_event());
    }
    let recipients = match find(&event, &mapping.recipients) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many
            .iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or(DecodeError::Malformed)?,
        _ => return Err(DecodeError::NoRecipient),
    };
    let received_at = mapping.received_at.as_deref();
    let received_at = received_at.and_then(|path| find(&event, path));
    let mail = match &mapping.raw {
        Some(path) => {
            let raw = find_text(&event, path).ok_or(DecodeError::Malformed)?;
            let raw = match mapping.encoding {
                RawForm::Base64 => payload::base64(raw)?,
                RawForm::Text => raw.as_bytes().to_vec(),
            };
            InboundMail::original(recipients, raw)?
        }
        None => rebuilt(mapping, &event, recipients)?,
    };
    Ok(Decoded::mail(
        mail.received(received_at.and_then(json::moment)),
    ))
}

/// Rebuilds the message from the parsed fields that the mapping names.
fn rebuilt(
    mapping: &PayloadSettings,
    event: &json::Object,
    recipients: Vec<String>,
) -> Result<InboundMail, DecodeError> {
    let field = |path: &Option<String>| path.as_deref().and_then(|path| find_text(event, path));
    let to = recipients.join(", ");
    let headers = [
        ("From", field(&mapping.from)),
        ("To", Some(to.as_str())),
        ("Subject", field(&mapping.subject)),
    ];
    let message = RebuiltMessage {
        headers: headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        text: field(&mapping.text).map(Body::utf8),
        html: field(&mapping.html).map(Body::utf8),
    };
    if message.text.is_none() && message.html.is_none() {
        return Err(DecodeError::Malformed);
    }
    InboundMail::rebuilt(recipients, &message)
}

fn find_text<'e>(event: &'e json::Object, path: &str) -> Option<&'e str> {
    find(event, path).and_then(Value::as_str)
}

fn find<'e>(event: &'e json::Object, path: &str) -> Option<&'e Value> {
    json::at(event, &path.split('.').collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
