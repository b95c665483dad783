//! An answer to a post whose body is not read to its end.
//!
//! Actix discards the rest of a chunked body that nobody holds any more, for as
//! long as the client cares to send, and keeps the connection. A body that is
//! still held makes it answer, linger for a moment and close.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::{Bytes, Payload};

/// Ends the connection after this answer.
pub(crate) fn closing(answer: HttpResponse<Bytes>, payload: Payload) -> HttpResponse {
    answer
        .map_body(|_, text| Closing {
            text,
            _payload: payload,
        })
        .map_body(|_, body| BoxBody::new(body))
}

/// The text of an answer, and the unread body of the request, kept until the
/// text is sent.
struct Closing {
    text: Bytes,
    _payload: Payload,
}

impl MessageBody for Closing {
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
