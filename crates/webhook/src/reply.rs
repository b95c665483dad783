//! Every answer of the webhook.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CACHE_CONTROL, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{Bytes, Payload};
use pipeline::{DeliveryId, Recorded};
use providers::{Answers, VerifyError};
use serde::Serialize;

use crate::body::ReadError;
use crate::budget::BudgetSpent;
use crate::certificates::CertificateUnavailable;
use crate::commit::CommitError;
use crate::headers::HeaderError;
use crate::unread_body;

/// Why a post is not recorded. An answer never repeats anything from the post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// 404: no source has this name.
    UnknownSource,
    /// 405: the method is not POST.
    Method,
    /// 415: the body is compressed.
    Encoded,
    /// 415: there is no usable content type.
    MediaType,
    /// 413: the body is longer than the limit.
    TooLarge,
    /// 408: the body did not arrive in time.
    Timeout,
    /// 400: the connection broke before the end of the body.
    Incomplete,
    /// 401: the origin is not proven. Every failure gets the same answer.
    NotAuthentic(VerifyError),
    /// The same, found before the body was read.
    RefusedUnread(VerifyError),
    /// 503: the certificate that the post is signed with could not be fetched.
    NoCertificate(CertificateUnavailable),
    /// 503: the memory budget is spent.
    Overloaded,
    /// 503: unfinished mail fills the storage quota, or the source's share of it.
    StorageFull,
    /// 503: the row could not be written, or not in time.
    NotRecorded(CommitError),
}

/// The part of a problem that the client sees.
struct Rendered {
    status: StatusCode,
    slug: &'static str,
    title: &'static str,
    retry_after: Option<&'static str>,
}

impl Rendered {
    fn text(&self) -> Bytes {
        let body = ProblemBody {
            r#type: format!("urn:maillatch:problem:{}", self.slug),
            title: self.title,
            status: self.status.as_u16(),
            retryable: self.retry_after.is_some(),
        };
        serde_json::to_string(&body).unwrap_or_default().into()
    }
}

/// A problem document (RFC 9457).
#[derive(Serialize)]
struct ProblemBody {
    r#type: String,
    title: &'static str,
    status: u16,
    retryable: bool,
}

/// A post that is in a committed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepted {
    New(DeliveryId),
    Duplicate(DeliveryId),
    Conflict(DeliveryId),
}

/// The body of the answer to a recorded post.
#[derive(Serialize)]
struct AcceptedBody {
    status: &'static str,
    delivery: DeliveryId,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    conflict: bool,
}

impl Accepted {
    /// The answer that a database result leads to.
    pub(crate) fn of(recorded: Recorded) -> Result<Self, Problem> {
        match recorded {
            Recorded::New(id) => Ok(Self::New(id)),
            Recorded::Duplicate(id) => Ok(Self::Duplicate(id)),
            Recorded::Conflict(id) => Ok(Self::Conflict(id)),
            Recorded::Refused(_) => Err(Problem::NotAuthentic(VerifyError::Replayed)),
        }
    }

    /// The answer to a post that is in a committed row.
    pub(crate) fn answer(self) -> HttpResponse {
        let (status, delivery) = match self {
            Self::New(id) | Self::Conflict(id) => ("accepted", id),
            Self::Duplicate(id) => ("duplicate", id),
        };
        HttpResponse::Ok()
            .insert_header((CACHE_CONTROL, "no-store"))
            .json(AcceptedBody {
                status,
                delivery,
                conflict: matches!(self, Self::Conflict(_)),
            })
    }

    /// The answer as a metric label.
    pub(crate) fn outcome(self) -> &'static str {
        match self {
            Self::New(_) => "accepted",
            Self::Duplicate(_) => "duplicate",
            Self::Conflict(_) => "conflict",
        }
    }
}

/// The answer to a provider's check of a new webhook.
pub(crate) fn challenge(text: String) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .content_type("text/plain")
        .body(text)
}

impl Problem {
    /// The answer to a post that is not recorded. When the body was not read to its
    /// end, the connection is closed after it.
    pub(crate) fn answer(self, answers: Answers, payload: Payload) -> HttpResponse {
        let rendered = self.render(answers);
        let mut answer = HttpResponse::build(rendered.status);
        answer
            .insert_header((CACHE_CONTROL, "no-store"))
            .content_type("application/problem+json");
        if let Some(seconds) = rendered.retry_after {
            answer.insert_header((RETRY_AFTER, seconds));
        }
        if self == Self::Method {
            answer.insert_header((ALLOW, "POST"));
        }
        let text = rendered.text();
        if self.leaves_body_unread() {
            let answer = answer.force_close().message_body(text);
            answer.map_or_else(Into::into, |answer| {
                unread_body::close_after(answer, payload)
            })
        } else {
            answer.body(text)
        }
    }

    fn render(self, answers: Answers) -> Rendered {
        let unread_status = |usual| answers.unread.unwrap_or(usual);
        let (status, slug, title) = match self {
            Self::UnknownSource => (404, "not-found", "No such source"),
            Self::Method => (405, "method-not-allowed", "Only POST is allowed here"),
            Self::Encoded => (
                unread_status(415),
                "content-encoding",
                "Send the body unencoded",
            ),
            Self::MediaType => (
                unread_status(415),
                "media-type",
                "Send one content type; JSON must be UTF-8",
            ),
            Self::TooLarge => (answers.too_large, "body-too-large", "The body is too large"),
            Self::Timeout => (
                unread_status(408),
                "request-timeout",
                "The body did not arrive in time",
            ),
            Self::Incomplete => (
                unread_status(400),
                "body-incomplete",
                "The body is incomplete",
            ),
            Self::NotAuthentic(_) | Self::RefusedUnread(_) => (
                answers.unproven,
                "signature-invalid",
                "The post is not authentic",
            ),
            Self::NoCertificate(_) => (
                answers.unavailable,
                "unavailable",
                "The post could not be checked",
            ),
            Self::Overloaded => (
                answers.unavailable,
                "overloaded",
                "The server is overloaded; retry",
            ),
            Self::StorageFull => (answers.unavailable, "storage-full", "Storage is full"),
            Self::NotRecorded(_) => (
                answers.unavailable,
                "unavailable",
                "The post could not be recorded",
            ),
        };
        Rendered {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            slug,
            title,
            retry_after: match self {
                Self::Overloaded => Some("1"),
                Self::StorageFull => Some("60"),
                Self::NoCertificate(_) | Self::NotRecorded(_) => Some("5"),
                _ => None,
            },
        }
    }

    fn leaves_body_unread(self) -> bool {
        !matches!(
            self,
            Self::NotAuthentic(_) | Self::NoCertificate(_) | Self::NotRecorded(_)
        )
    }

    /// The problem as a metric label.
    pub(crate) fn outcome(self) -> &'static str {
        match self {
            Self::UnknownSource => "unknown_source",
            Self::Method => "method",
            Self::Encoded => "content_encoding",
            Self::MediaType => "media_type",
            Self::TooLarge => "too_large",
            Self::Timeout => "too_slow",
            Self::Incomplete => "incomplete",
            Self::NotAuthentic(flaw) | Self::RefusedUnread(flaw) => flaw.reason(),
            Self::NoCertificate(_) => "certificate_away",
            Self::Overloaded => "overloaded",
            Self::StorageFull => "storage_full",
            Self::NotRecorded(CommitError::Failed) => "commit_failed",
            Self::NotRecorded(CommitError::Late) => "commit_late",
            Self::NotRecorded(CommitError::Closed) => "closing",
        }
    }
}

impl From<HeaderError> for Problem {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Encoded => Self::Encoded,
            HeaderError::MediaType => Self::MediaType,
            HeaderError::TooLarge => Self::TooLarge,
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::TooLarge => Self::TooLarge,
            ReadError::Timeout => Self::Timeout,
            ReadError::Broken => Self::Incomplete,
            ReadError::Overloaded => Self::Overloaded,
        }
    }
}

impl From<BudgetSpent> for Problem {
    fn from(BudgetSpent: BudgetSpent) -> Self {
        Self::Overloaded
    }
}

impl From<VerifyError> for Problem {
    fn from(error: VerifyError) -> Self {
        Self::NotAuthentic(error)
    }
}

impl From<CertificateUnavailable> for Problem {
    fn from(error: CertificateUnavailable) -> Self {
        Self::NoCertificate(error)
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Self {
        Self::NotRecorded(error)
    }
}
