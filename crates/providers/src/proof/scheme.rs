//! One verifier for every provider that signs with a shared secret and sends the
//! signature in headers. The differences between them are data.

use std::time::Duration;

use pipeline::Timestamp;

use crate::proof::freshness::Unit;
use crate::proof::key::Keys;
use crate::proof::request::RawRequest;
use crate::proof::signature::Layout;
use crate::proof::{VerifyError, freshness, signature};

/// How a provider signs its posts.
#[derive(Debug, Clone)]
pub(crate) struct Scheme {
    /// The names of the headers. A post uses one family. One that mixes families is
    /// refused: a forger could hope that we check the signature of one family and use
    /// the id of the other.
    pub(crate) families: Vec<Family>,
    /// How the signature header lists its signatures.
    pub(crate) layout: Layout,
    /// What is signed, in order.
    pub(crate) signed: Vec<Part>,
    /// How the time of signing is written and how old it may be. `None` if no time is
    /// signed; then only the delivery's row stops a replay.
    pub(crate) stamp: Option<Stamp>,
}

/// The names of the headers of one proof.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    /// The delivery id, if it is signed or is the key.
    pub(crate) id: Option<String>,
    /// The time of signing, if it has its own header.
    pub(crate) timestamp: Option<String>,
    /// The signatures.
    pub(crate) signature: String,
}

/// A part of the signed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// The delivery id.
    Id,
    /// The timestamp, as it was written.
    Timestamp,
    /// The body, as it was received.
    Body,
    /// Fixed text.
    Text(String),
}

/// The form of a timestamp and how far it may be from now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) unit: Unit,
    pub(crate) tolerance: Duration,
}

/// What a valid signature has proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proven<'a> {
    /// The delivery id, if the scheme has a header for it.
    pub(crate) id: Option<&'a str>,
}

impl Family {
    pub(crate) fn signature(name: &str) -> Self {
        Self {
            id: None,
            timestamp: None,
            signature: name.to_owned(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        [&self.id, &self.timestamp]
            .into_iter()
            .flatten()
            .chain([&self.signature])
            .map(String::as_str)
    }
}

impl Scheme {
    /// Proves that one of the keys signed this post. The signature is checked before
    /// its age, so that a forged post learns nothing about the time window.
    pub(crate) fn prove<'a>(
        &self,
        keys: &Keys,
        request: &RawRequest<'a>,
        now: Timestamp,
    ) -> Result<Proven<'a>, VerifyError> {
        let family = self.family(request)?;
        let id = self.id(family, request)?;
        let header = signature::read(&self.layout, request.only(&family.signature)?)?;
        let written = match &family.timestamp {
            Some(name) => Some(request.only(name)?),
            None => header.timestamp,
        };
        let stamp = self.stamp(written)?;

        let written = written.unwrap_or_default();
        let parts = self.parts(id.unwrap_or_default(), written, request.body());
        if !keys.any_signed(&parts, &header.signatures, now) {
            return Err(VerifyError::SignatureMismatch);
        }
        if let Some((moment, tolerance)) = stamp {
            freshness::check(moment, now, tolerance)?;
        }
        Ok(Proven { id })
    }

    /// The headers of a post signed with the first key.
    pub(crate) fn sign(
        &self,
        keys: &Keys,
        id: &str,
        at: Timestamp,
        body: &[u8],
    ) -> Option<Vec<(String, String)>> {
        let family = self.families.first()?;
        let stamp = self.stamp.map(|stamp| stamp.unit.write(at));
        let stamp = stamp.unwrap_or_default();
        let mac = keys.sign(&self.parts(id, stamp.as_bytes(), body))?;
        let signature = self.layout.write(mac.as_ref(), &stamp);
        Some(
            [
                (family.id.as_ref(), id),
                (family.timestamp.as_ref(), &stamp),
                (Some(&family.signature), &signature),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name?.clone(), value.to_owned())))
            .collect(),
        )
    }

    fn parts<'p>(&'p self, id: &'p str, stamp: &'p [u8], body: &'p [u8]) -> Vec<&'p [u8]> {
        self.signed
            .iter()
            .map(|part| match part {
                Part::Id => id.as_bytes(),
                Part::Timestamp => stamp,
                Part::Body => body,
                Part::Text(text) => text.as_bytes(),
            })
            .collect()
    }

    fn family(&self, request: &RawRequest<'_>) -> Result<&Family, VerifyError> {
        let is_in = |family: &&Family| family.names().any(|name| request.has(name));
        let mut present = self.families.iter().filter(is_in);
        match (present.next(), present.next()) {
            (None, _) => Err(VerifyError::HeaderMissing),
            (Some(family), None) => Ok(family),
            (Some(_), Some(_)) => Err(VerifyError::FamiliesMixed),
        }
    }

    /// The delivery id. A signed id is required; an id that is only the key may be
    /// missing, and then the content is the key.
    fn id<'a>(
        &self,
        family: &Family,
        request: &RawRequest<'a>,
    ) -> Result<Option<&'a str>, VerifyError> {
        match &family.id {
            None => Ok(None),
            Some(name) if !request.has(name) && !self.signed.contains(&Part::Id) => Ok(None),
            Some(name) => delivery_id(request.only(name)?).map(Some),
        }
    }

    fn stamp(&self, written: Option<&[u8]>) -> Result<Option<(Timestamp, Duration)>, VerifyError> {
        let Some(stamp) = self.stamp else {
            return Ok(None);
        };
        let written = written.ok_or(VerifyError::TimestampMalformed)?;
        Ok(Some((stamp.unit.read(written)?, stamp.tolerance)))
    }
}

/// An id without dots. With a dot, `a.1` at time `2…` and `a` at time `1.2…` would be
/// the same signed bytes.
fn delivery_id(header: &[u8]) -> Result<&str, VerifyError> {
    let shaped = (1..=128).contains(&header.len())
        && header
            .iter()
            .all(|&b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    str::from_utf8(header)
        .ok()
        .filter(|_| shaped)
        .ok_or(VerifyError::IdMalformed)
}
