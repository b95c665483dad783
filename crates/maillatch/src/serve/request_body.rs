//! The body of a request, between Actix and the routes.
//!
//! Actix does two things that an unauthenticated client could abuse. It sends `100
//! Continue` before a route has seen the request, and so asks for bodies that are then
//! refused. And it goes on reading the body of a refused request for as long as the client
//! sends. Here `100 Continue` is sent only when the route reads the body. If the body was
//! not read to its end, the connection is closed after the answer.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_http::error::PayloadError;
use actix_http::{HttpMessage, Payload, Request, Response};
use actix_service::boxed::{self, BoxService, BoxServiceFactory};
use actix_service::{Service, apply_fn_factory};
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::ServiceResponse;
use actix_web::web::Bytes;
use futures_util::Stream;
use futures_util::future::{Either, LocalBoxFuture};

/// The routes of a process.
pub(super) type Routes = BoxServiceFactory<(), Request, ServiceResponse, Refusal, ()>;
type RoutesOfThread = BoxService<Request, ServiceResponse, Refusal>;
type Refusal = Response<BoxBody>;
type Answer = Result<Response<BoxBody>, Refusal>;

/// The rest of a request that was begun by [`before_continue`].
struct Begun(LocalBoxFuture<'static, Answer>);

/// Serves requests, and finishes those that [`before_continue`] began.
pub(super) fn serve(
    routes: Routes,
) -> BoxServiceFactory<(), Request, Response<BoxBody>, Refusal, ()> {
    let call = |request: Request, routes: &RoutesOfThread| {
        let begun = request.extensions_mut().remove::<Begun>();
        match begun {
            Some(Begun(rest)) => Either::Left(rest),
            None => Either::Right(answer(routes, request).1),
        }
    };
    boxed::factory(apply_fn_factory(routes, call))
}

/// Begins a request whose client waits for `100 Continue`. When the route reads the
/// body, the result is a request that finishes this one; Actix then tells the client to
/// continue. When the route answers first, the error is that answer.
pub(super) fn before_continue(
    routes: Routes,
) -> BoxServiceFactory<(), Request, Request, Refusal, ()> {
    let begin = |request: Request, routes: &RoutesOfThread| {
        let (body, rest) = answer(routes, request);
        until_wanted(body, Box::pin(rest))
    };
    boxed::factory(apply_fn_factory(routes, begin))
}

async fn until_wanted(
    body: Body,
    mut rest: LocalBoxFuture<'static, Answer>,
) -> Result<Request, Refusal> {
    let answered = poll_fn(|context| match rest.as_mut().poll(context) {
        Poll::Ready(Ok(answer) | Err(answer)) => Poll::Ready(Some(answer)),
        Poll::Pending if body.is_wanted.get() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    if let Some(answer) = answered.await {
        return Err(answer);
    }
    let request = Request::new();
    request.extensions_mut().insert(Begun(rest));
    Ok(request)
}

/// Calls a route. Its answer keeps the body until it is sent.
fn answer(
    routes: &RoutesOfThread,
    mut request: Request,
) -> (Body, impl Future<Output = Answer> + use<>) {
    let body = Body::of(request.take_payload());
    *request.payload() = Payload::Stream {
        payload: Box::pin(body.clone()),
    };
    let answer = routes.call(request);
    let kept = body.clone();
    let answer = async move {
        match answer.await {
            Ok(answer) => Ok(kept.keep_until_sent(answer.into())),
            Err(answer) => Err(kept.keep_until_sent(answer)),
        }
    };
    (body, answer)
}

/// The body of a request, shared by the route and the answer.
#[derive(Clone)]
struct Body {
    payload: Rc<RefCell<Payload>>,
    /// Whether a route has begun to read it.
    is_wanted: Rc<Cell<bool>>,
}

impl Body {
    fn of(payload: Payload) -> Self {
        Self {
            payload: Rc::new(RefCell::new(payload)),
            is_wanted: Rc::default(),
        }
    }

    /// While something holds the body, Actix does not discard the rest of it, but
    /// answers, lingers for a moment and closes.
    fn keep_until_sent(self, answer: Response<BoxBody>) -> Response<BoxBody> {
        if matches!(*self.payload.borrow(), Payload::None) {
            return answer;
        }
        answer.map_body(|_, text| BoxBody::new(Kept { text, _body: self }))
    }
}

impl Stream for Body {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.is_wanted.set(true);
        Pin::new(&mut *self.payload.borrow_mut()).poll_next(context)
    }
}

/// The text of an answer, and the body of its request.
struct Kept {
    text: BoxBody,
    _body: Body,
}

impl MessageBody for Kept {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.text.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.text).poll_next(context)
    }
}
