"""The synchronous client."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Mapping, Sequence

from . import _attempt
from ._attempt import Kind, Progress
from ._transport import Transport
from .errors import InvalidRequest, MaillatchError
from .results import Code, Link, Status, Token


class Maillatch:
    """A Maillatch server.

    ``url`` and ``key`` default to the variables ``MAILLATCH_URL`` and ``MAILLATCH_KEY``.
    The object is safe to share between threads.
    """

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self._transport = Transport(url, key)

    @property
    def url(self) -> str:
        return self._transport.url

    def attempt(
        self,
        *,
        kind: Kind = "code",
        senders: Sequence[str] = (),
        links: Sequence[str] | None = None,
        inbox: str | None = None,
        deadline: int = 600,
        resends: int = 1,
        token: str | None = None,
        expect: Mapping[str, int] | None = None,
        verified: bool = False,
        reference: str | None = None,
    ) -> Attempt:
        """Opens an attempt. Do it before the mail is triggered.

        ``senders`` are domains the mail may come from, ``links`` hosts a link may lead
        to. ``token`` asks for one field of the link instead of the link. ``expect``
        says which form the code has, such as ``{"digits": 6}``. ``verified`` accepts
        only mail whose sender is proven. The same ``reference`` is the same attempt,
        also after a restart of your process.
        """
        body = _attempt.wish(
            kind="link" if token is not None and kind == "code" else kind,
            senders=senders,
            links=links,
            inbox=inbox,
            deadline=deadline,
            resends=resends,
            token=token,
            expect=expect,
            verified=verified,
            reference=reference,
        )
        key = f"open-{body['reference']}"[:255]
        answer = self._transport.call("POST", "/v1/attempts", body=body, idempotency_key=key)
        return Attempt(self._transport, Progress(answer.body))

    def resume(self, attempt_id: str) -> Attempt:
        """An attempt that was opened before, for example by another process."""
        answer = self._transport.call("GET", f"/v1/attempts/{attempt_id}")
        return Attempt(self._transport, Progress(answer.body))


class Attempt:
    """One try to get a code or a link. As a context manager it finishes itself."""

    def __init__(self, transport: Transport, progress: Progress) -> None:
        self._transport = transport
        self._progress = progress
        self._is_finished = False

    @property
    def id(self) -> str:
        return self._progress.id

    @property
    def address(self) -> str:
        """The address to sign up with."""
        return self._progress.address

    def code(self, timeout: float | None = None) -> Code:
        """Waits for the code and takes it.

        ``timeout`` is in seconds; it defaults to the variable ``MAILLATCH_TIMEOUT``, then
        to 90.
        """
        self._progress.expect("code")
        value = self._value("code", timeout)
        if not isinstance(value, Code):
            raise InvalidRequest("the mail held a link and no code; use link()")
        return value

    def link(self, timeout: float | None = None, *, host: str | None = None) -> Link:
        """Waits for the link and takes it. ``host`` is where it must lead."""
        self._progress.expect("link")
        value = self._value("link", timeout)
        if not isinstance(value, Link):
            raise InvalidRequest("the mail held no whole link; use code() or token()")
        _attempt.check_host(value, host)
        return value

    def token(self, timeout: float | None = None) -> Token:
        """Waits for the field of the link that the attempt was opened with."""
        value = self._value("link", timeout)
        if not isinstance(value, Token):
            raise InvalidRequest('this attempt was not opened with token="…"')
        return value

    def status(self) -> Status:
        """How the attempt stands."""
        return Status.of(self._transport.call("GET", f"/v1/attempts/{self.id}").body)

    def resend(self) -> int:
        """Counts a resend against the attempt's budget and returns how many are left.

        It sends nothing: call it before you click "send again", and only click when it
        returns.
        """
        path = f"/v1/attempts/{self.id}/resend"
        answer = self._transport.call(
            "POST", path, body={}, idempotency_key=self._progress.resend_key
        )
        self._progress.resent()
        return int(answer.body["resends_left"])

    def finish(self, outcome: str | None = None) -> None:
        """Ends the attempt: ``succeeded``, ``failed`` or ``abandoned``."""
        if self._is_finished:
            return
        outcome = outcome or ("succeeded" if self._progress.has_value else "abandoned")
        path = f"/v1/attempts/{self.id}/finish"
        key = f"{self.id}-finish"
        self._transport.call("POST", path, body={"outcome": outcome}, idempotency_key=key)
        self._is_finished = True

    def _value(self, wanted: str, timeout: float | None) -> Code | Link | Token:
        timeout = _attempt.default_timeout() if timeout is None else timeout
        began = time.monotonic()
        path = f"/v1/attempts/{self.id}/consume"
        while True:
            left = max(0.0, began + timeout - time.monotonic())
            answer = self._transport.call(
                "POST",
                path,
                idempotency_key=self._progress.consume_key,
                wait=_attempt.ONE_WAIT_SECONDS,
                patience=max(left, _attempt.LEAST_PATIENCE_SECONDS),
            )
            value = self._progress.value(answer)
            if value is not None:
                return value
            status = Status.of(answer.body)
            waited = time.monotonic() - began
            if _attempt.is_over(status) or waited >= timeout:
                raise self._progress.miss(status, wanted, waited)
            if left < 1.0:
                # Less than a second is left, which the server cannot wait for.
                time.sleep(max(0.0, min(timeout - waited, 0.25)))

    def __enter__(self) -> Attempt:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        outcome = "failed" if kind is not None else None
        try:
            self.finish(outcome)
        except MaillatchError:
            # The error inside the block says more than one about the end.
            if kind is None:
                raise
