//! What makes two posts of a source the same delivery.

use pipeline::{ContentDigest, DeliveryKey, SourceName};

use crate::payload::{form, json};
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified};

/// Where a provider puts the id of a delivery, if it has one.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// In a header that the signature scheme names, or where the provider's own code
    /// finds it.
    Header,
    /// In the JSON body, at this path.
    Field(Vec<String>),
    /// In a JSON body that also counts the attempts: only the value of `content` stays
    /// the same when the delivery is retried.
    FieldWithAttempts {
        /// The key of the id.
        id: &'static str,
        /// The key of the value that stays the same.
        content: &'static str,
    },
    /// There is none; the content is the key.
    Content,
}

impl Identity {
    /// The proven post with its key. A post without the expected id is keyed by its
    /// content, because it must still be deduplicated.
    pub(crate) fn verified(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        header: Option<&str>,
        coverage: Coverage,
    ) -> Verified {
        let content = self.content(request);
        let key = match self.id(request, header) {
            Some(id) => DeliveryKey::from_provider_id(source, &id),
            None => DeliveryKey::from_content(source, &content),
        };
        Verified::new(key, content, coverage)
    }

    fn id(&self, request: &RawRequest<'_>, header: Option<&str>) -> Option<String> {
        match self {
            Self::Header => header.map(str::to_owned),
            Self::Field(path) => {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                let body = json::object(request.body()).ok()?;
                json::text(&body, &path)
                    .filter(|id| !id.is_empty())
                    .map(str::to_owned)
            }
            Self::FieldWithAttempts { id, .. } => {
                let body = json::object(request.body()).ok()?;
                json::text(&body, &[id]).map(str::to_owned)
            }
            Self::Content => None,
        }
    }

    fn content(&self, request: &RawRequest<'_>) -> ContentDigest {
        if let Self::FieldWithAttempts { content, .. } = self
            && let Ok(body) = json::object(request.body())
            && let Some(value) = body.get(*content)
        {
            return ContentDigest::of(&[value.to_string().as_bytes()]);
        }
        stable_content(request)
    }
}

/// A digest of what stays the same when a delivery is retried or replayed: the fields of
/// a form, whose boundary and escapes may change, and the bytes of any other body.
fn stable_content(request: &RawRequest<'_>) -> ContentDigest {
    match form::fields(request.content_type(), request.body()) {
        Ok(fields) => form::digest(&fields, &[]),
        Err(_) => ContentDigest::of(&[request.body()]),
    }
}
