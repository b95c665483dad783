//! Every answer of the webhook, in one place.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CACHE_CONTROL, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{Bytes, Payload};
use pipeline::{DeliveryId, Recorded};
use providers::{Answers, VerifyError};
use serde::Serialize;

use crate::body::ReadError;
use crate::budget::Spent;
use crate::certificates::CertificateAway;
use crate::commit::CommitError;
use crate::screen::ScreenError;
use crate::unread;

/// Why a post is not recorded, from a closed list. Nothing of the post is
/// repeated in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// 404: no source has this name.
    UnknownSource,
    /// 405: a webhook is posted to.
    Method,
    /// 415: the body is compressed.
    Encoded,
    /// 415: there is no usable content type.
    MediaType,
    /// 413: the body is longer than the limit.
    TooLarge,
    /// 408: the body did not come in time.
    TooSlow,
    /// 400: the body broke off.
    Incomplete,
    /// 401: the origin is not proven; one answer for every way to fail.
    Unproven(VerifyError),
    /// 503: the certificate that the post is signed with cannot be had now.
    Uncertified(CertificateAway),
    /// 503: there is no memory for another body now.
    Crowded,
    /// 503: the record could not be written, or not in time.
    Unrecorded(CommitError),
}

/// The part of a problem that the sender sees.
struct Face {
    status: StatusCode,
    slug: &'static str,
    title: &'static str,
    retry_after: Option<&'static str>,
}

impl Face {
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

/// A problem as RFC 9457 writes it.
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

/// What a sender reads when its post is recorded.
#[derive(Serialize)]
struct AcceptedBody {
    status: &'static str,
    delivery: DeliveryId,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    conflict: bool,
}

impl Accepted {
    /// What the database's answer means for the sender.
    pub(crate) fn of(recorded: Recorded) -> Result<Self, Problem> {
        match recorded {
            Recorded::New(id) => Ok(Self::New(id)),
            Recorded::Duplicate(id) => Ok(Self::Duplicate(id)),
            Recorded::Conflict(id) => Ok(Self::Conflict(id)),
            Recorded::Refused(_) => Err(Problem::Unproven(VerifyError::Replayed)),
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

    /// The answer as a word for meters.
    pub(crate) fn outcome(self) -> &'static str {
        match self {
            Self::New(_) => "accepted",
            Self::Duplicate(_) => "duplicate",
            Self::Conflict(_) => "conflict",
        }
    }
}

/// The answer to a provider's check that the webhook is there.
pub(crate) fn greeting(text: String) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .content_type("text/plain")
        .body(text)
}

impl Problem {
    /// The answer to a post that is not recorded. When bytes of its body may
    /// still be on their way, the connection ends with it.
    pub(crate) fn answer(self, answers: Answers, payload: Payload) -> HttpResponse {
        let face = self.face(answers);
        let mut answer = HttpResponse::build(face.status);
        answer
            .insert_header((CACHE_CONTROL, "no-store"))
            .content_type("application/problem+json");
        if let Some(seconds) = face.retry_after {
            answer.insert_header((RETRY_AFTER, seconds));
        }
        if self == Self::Method {
            answer.insert_header((ALLOW, "POST"));
        }
        let text = face.text();
        if self.leaves_body_unread() {
            let answer = answer.force_close().message_body(text);
            answer.map_or_else(Into::into, |answer| unread::closing(answer, payload))
        } else {
            answer.body(text)
        }
    }

    fn face(self, answers: Answers) -> Face {
        let unread = |usual| answers.unread.unwrap_or(usual);
        let (status, slug, title) = match self {
            Self::UnknownSource => (404, "not-found", "No such source"),
            Self::Method => (405, "method-not-allowed", "Only POST is allowed here"),
            Self::Encoded => (unread(415), "content-encoding", "Send the body unencoded"),
            Self::MediaType => (
                unread(415),
                "media-type",
                "Send a content type, JSON in UTF-8",
            ),
            Self::TooLarge => (answers.too_large, "body-too-large", "The body is too large"),
            Self::TooSlow => (
                unread(408),
                "request-timeout",
                "The body did not come in time",
            ),
            Self::Incomplete => (unread(400), "body-incomplete", "The body broke off"),
            Self::Unproven(_) => (
                answers.unproven,
                "signature-invalid",
                "The post is not authentic",
            ),
            Self::Uncertified(_) => (
                answers.unavailable,
                "unavailable",
                "The post could not be checked",
            ),
            Self::Crowded => (answers.unavailable, "overloaded", "Too much at once"),
            Self::Unrecorded(_) => (
                answers.unavailable,
                "unavailable",
                "The post could not be recorded",
            ),
        };
        Face {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            slug,
            title,
            retry_after: match self {
                Self::Crowded => Some("1"),
                Self::Uncertified(_) | Self::Unrecorded(_) => Some("5"),
                _ => None,
            },
        }
    }

    fn leaves_body_unread(self) -> bool {
        !matches!(
            self,
            Self::Unproven(_) | Self::Uncertified(_) | Self::Unrecorded(_)
        )
    }

    /// The problem as a word for meters.
    pub(crate) fn outcome(self) -> &'static str {
        match self {
            Self::UnknownSource => "unknown_source",
            Self::Method => "method",
            Self::Encoded => "content_encoding",
            Self::MediaType => "media_type",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::Incomplete => "incomplete",
            Self::Unproven(flaw) => flaw.reason(),
            Self::Uncertified(CertificateAway) => "certificate_away",
            Self::Crowded => "overloaded",
            Self::Unrecorded(CommitError::Failed) => "commit_failed",
            Self::Unrecorded(CommitError::Late) => "commit_late",
            Self::Unrecorded(CommitError::Closed) => "closing",
        }
    }
}

impl From<ScreenError> for Problem {
    fn from(error: ScreenError) -> Self {
        match error {
            ScreenError::Encoded => Self::Encoded,
            ScreenError::MediaType => Self::MediaType,
            ScreenError::TooLarge => Self::TooLarge,
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::TooLarge => Self::TooLarge,
            ReadError::TooSlow => Self::TooSlow,
            ReadError::Broken => Self::Incomplete,
            ReadError::Crowded => Self::Crowded,
        }
    }
}

impl From<Spent> for Problem {
    fn from(Spent: Spent) -> Self {
        Self::Crowded
    }
}

impl From<VerifyError> for Problem {
    fn from(error: VerifyError) -> Self {
        Self::Unproven(error)
    }
}

impl From<CertificateAway> for Problem {
    fn from(error: CertificateAway) -> Self {
        Self::Uncertified(error)
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Self {
        Self::Unrecorded(error)
    }
}
