//! An answer to a post whose body is not read to its end.
//!
//! When nothing holds the payload any more, Actix discards the rest of a chunked
//! body for as long as the client sends, and keeps the connection. While the answer
//! holds the payload, Actix answers, lingers for a moment and closes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::{Bytes, Payload};

/// Closes the connection after this answer.
pub(crate) fn close_after(answer: HttpResponse<Bytes>, payload: Payload) -> HttpResponse {
    answer
        .map_body(|_, text| ClosingBody {
            text,
            _payload: payload,
        })
        .map_body(|_, body| BoxBody::new(body))
}

/// The text of an answer, and the unread body of the request, kept until the
/// text is sent.
struct ClosingBody {
    text: Bytes,
    _payload: Payload,
}

impl MessageBody for ClosingBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.text.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        Pin::new(&mut self.get_mut().text).poll_next(context)
    }
}
