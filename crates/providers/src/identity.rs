//! What makes two posts of a source the same delivery.

use pipeline::{ContentDigest, DeliveryKey, SourceName};

use crate::{Coverage, RawRequest, Verified, form, json};

/// Where a provider puts its delivery's id, if it has one.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// In a header that the signature scheme names.
    Header,
    /// In the JSON body, at this path.
    Field(Vec<String>),
    /// In the JSON body, which also counts its tries: only the value of `content`
    /// stays the same over them.
    FieldOfTry {
        /// The key of the id.
        id: &'static str,
        /// The key of what stays the same.
        content: &'static str,
    },
    /// Nowhere; the content is the key.
    Content,
}

impl Identity {
    /// The proven post under its key. A post without the expected id is known
    /// by its content: it must still be deduplicated.
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
            Self::FieldOfTry { id, .. } => {
                let body = json::object(request.body()).ok()?;
                json::text(&body, &[id]).map(str::to_owned)
            }
            Self::Content => None,
        }
    }

    fn content(&self, request: &RawRequest<'_>) -> ContentDigest {
        if let Self::FieldOfTry { content, .. } = self
            && let Ok(body) = json::object(request.body())
            && let Some(value) = body.get(*content)
        {
            return ContentDigest::of(&[value.to_string().as_bytes()]);
        }
        stable_content(request)
    }
}

/// A digest of what stays the same over the tries of one delivery: the fields
/// of a multipart form, whose boundary is new on every try, and the bytes of
/// everything else.
fn stable_content(request: &RawRequest<'_>) -> ContentDigest {
    match form::multipart(request.content_type(), request.body()) {
        Some(Ok(fields)) => form::digest(&fields, &[]),
        Some(Err(_)) | None => ContentDigest::of(&[request.body()]),
    }
}
