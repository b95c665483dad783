//! Any sender that signs the body with a shared secret in headers; every knob
//! is a setting.
//!
//! Request: the header `scheme.signature_header`, and where they are named those of
//! the time and of the id; the id may also stand in the body (`scheme.id_field`).
//! Without one the content is the delivery's key. What is signed, how it is written,
//! the unit of the time, how the secret is read and the hash are knobs too. The body
//! is JSON: Maillatch's own payload, or whatever `payload` maps.
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
//! Received: where `payload.received_at` says; a sender's field for it must hold its own
//! time and not one of the mail's headers. Maillatch's own payload has `timestamp`.
//!
//! Answers: 200 stored or duplicate; 401 not proven or stale; 413 too large; 503 not
//! stored. Nothing is known of how the sender takes them; these say what happened.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add generic` prints.

use std::time::Duration;

use serde_json::Value;

use super::{Contract, Handshake, Provider, native, tolerance};
use crate::freshness::Unit;
use crate::identity::Identity;
use crate::key::{Digest, KeyForm, Keys};
use crate::sample::Shape;
use crate::scheme::{Family, Part, Scheme, Stamp};
use crate::settings::{Knob, PayloadSettings, RawForm, SchemeSettings};
use crate::signature::{Encoding, Layout};
use crate::sources::SourceFlaw;
use crate::symmetric::{Decoder, Symmetric};
use crate::{Answers, Coverage, DecodeError, Decoded, InboundMail, SourceSettings, json};

pub(crate) const CONTRACT: Contract = Contract {
    name: "generic",
    answers: Answers::PLAIN,
    setup: &[
        "Set `scheme` to what the sender signs and how it writes it.",
        "Set `payload` to where the sender puts the recipients and the message.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: KNOBS,
    build: |settings| build(settings, SchemeSettings::default()),
};

/// What every contract of this kind may be told.
pub(super) const KNOBS: &[Knob] = &[Knob::Secrets, Knob::Tolerance, Knob::Scheme, Knob::Payload];

/// A source of any symmetric scheme; `preset` fills in what is not set.
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
    let identity = match &own.id_field {
        Some(path) => Identity::Field(path.split('.').map(str::to_owned).collect()),
        None if own.id_header.is_some() => Identity::Header,
        None => Identity::Content,
    };
    Ok(Box::new(Symmetric {
        scheme: scheme(settings, &own)?,
        keys: Keys::new(&settings.secrets, form, digest)?,
        identity,
        decoder: decoder(settings.payload.clone()),
        // A mapped payload says where to find things, not what else is there.
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
            "a timestamp is both sent and signed, or neither",
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

/// Reads `{id}.{timestamp}.{body}`. A signature that leaves the body out would
/// let anybody who has seen one post send another.
fn template(text: &str) -> Result<Vec<Part>, SourceFlaw> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        let (name, behind) = behind
            .split_once('}')
            .ok_or(SourceFlaw::Scheme("`signed` has an open `{`"))?;
        parts.push(match name {
            "id" => Part::Id,
            "timestamp" => Part::Timestamp,
            "body" => Part::Body,
            _ => {
                return Err(SourceFlaw::Scheme(
                    "`signed` knows {id}, {timestamp}, {body}",
                ));
            }
        });
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    let bodies = parts.iter().filter(|part| **part == Part::Body).count();
    if bodies == 1 && parts.last() == Some(&Part::Body) {
        Ok(parts)
    } else {
        Err(SourceFlaw::Scheme("`signed` ends with the one `{body}`"))
    }
}

fn decoder(payload: Option<PayloadSettings>) -> Decoder {
    match payload {
        None => Box::new(native::decode),
        Some(mapping) => Box::new(move |_, body| mapped(&mapping, body)),
    }
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
    let raw = find(&event, &mapping.raw)
        .and_then(Value::as_str)
        .ok_or(DecodeError::Malformed)?;
    let raw = match mapping.encoding {
        RawForm::Base64 => native::base64(raw)?,
        RawForm::Text => raw.as_bytes().to_vec(),
    };
    let received_at = mapping.received_at.as_deref();
    let received_at = received_at.and_then(|path| find(&event, path));
    let mail = InboundMail::original(recipients, raw)?;
    Ok(Decoded::mail(
        mail.received(received_at.and_then(json::moment)),
    ))
}

fn find<'e>(event: &'e json::Object, path: &str) -> Option<&'e Value> {
    json::at(event, &path.split('.').collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
