"""One HTTP call, repeated until it is answered or its time is over.

Every POST carries an idempotency key, so repeating it is safe: the server does the
request once and answers it again.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import time
from dataclasses import dataclass
from typing import Any, Mapping
from urllib.parse import urlsplit

from .errors import (
    AlreadyConsumed,
    Expired,
    InvalidRequest,
    MaillatchError,
    NotFound,
    RateLimited,
    ResendsSpent,
    Superseded,
    Unauthorized,
    Unhealthy,
    Unreachable,
)

#: How long the server may take for an answer beyond the wait it was asked for.
ANSWER_SECONDS = 15.0
#: The pauses between two tries grow from the first to the last of these.
FIRST_PAUSE, LAST_PAUSE = 0.2, 3.0
#: Statuses that pass by themselves: a request that did not reach the server in time, too
#: many requests, and a server that is restarting.
PASSING = (408, 429, 502, 503, 504)


@dataclass(frozen=True)
class Answer:
    """A 2xx answer."""

    status: int
    body: Mapping[str, Any]


class Transport:
    """Where the server is and which key opens it."""

    def __init__(self, url: str | None, key: str | None) -> None:
        url = url or os.environ.get("MAILLATCH_URL") or "http://127.0.0.1:8080"
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidRequest(f"the server's URL must begin with http:// or https://: {url}")
        key = key or os.environ.get("MAILLATCH_KEY")
        if not key:
            raise Unauthorized(
                "there is no API key. Set MAILLATCH_KEY, or pass key=…; a development "
                "server keeps its key in maillatch-data/dev.env"
            )
        self.url = url.rstrip("/")
        self._parts = parts
        self._key = key

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        wait: float | None = None,
        patience: float = 30.0,
    ) -> Answer:
        """Calls until there is an answer that will not pass, for at most ``patience``
        seconds. ``wait`` asks the server to wait that long before it answers; a repeated
        call asks for no more than there is time."""
        deadline = time.monotonic() + patience
        pause = FIRST_PAUSE
        while True:
            retry_after: float | None = None
            seconds = 0
            if wait is not None:
                seconds = int(max(0.0, min(wait, deadline - time.monotonic())))
                body = {**(body or {}), "wait": seconds}
            try:
                status, headers, parsed = self._once(method, path, body, idempotency_key, seconds)
            except (OSError, http.client.HTTPException) as error:
                failure: MaillatchError = Unreachable(
                    f"the Maillatch server at {self.url} does not answer "
                    f"({type(error).__name__}). Start it, or set MAILLATCH_URL"
                )
            else:
                if 200 <= status < 300:
                    return Answer(status, parsed)
                failure = _failure(status, parsed)
                if status not in PASSING:
                    raise failure
                retry_after = _seconds(headers.get("retry-after"))
            # Jitter: many clients that lost one server must not come back at once.
            rest = retry_after if retry_after is not None else pause * random.uniform(0.5, 1.5)
            if time.monotonic() + rest >= deadline:
                raise failure
            time.sleep(rest)
            pause = min(pause * 2, LAST_PAUSE)

    def _once(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        idempotency_key: str | None,
        wait: float,
    ) -> tuple[int, Mapping[str, str], Mapping[str, Any]]:
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json"}
        payload = None
        if body is not None:
            payload = json.dumps(body)
            headers["Content-Type"] = "application/json"
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        connection_type = (
            http.client.HTTPSConnection
            if self._parts.scheme == "https"
            else http.client.HTTPConnection
        )
        host = self._parts.hostname or ""
        connection = connection_type(host, self._parts.port, timeout=wait + ANSWER_SECONDS)
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, payload, headers)
            response = connection.getresponse()
            raw = response.read()
            lowered = {name.lower(): value for name, value in response.getheaders()}
            return response.status, lowered, _object(raw)
        finally:
            connection.close()


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        parsed = json.loads(raw)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else float(header)
    except ValueError:
        return None


def _failure(status: int, problem: Mapping[str, Any]) -> MaillatchError:
    """The error that a problem document (RFC 9457) stands for."""
    kind = str(problem.get("type", "")).rpartition(":")[2]
    detail = str(problem.get("detail") or problem.get("title") or f"status {status}")
    reason = problem.get("reason")
    by_type: dict[str, type[MaillatchError]] = {
        "already-consumed": AlreadyConsumed,
        "superseded": Superseded,
        "attempt-over": Expired,
        "expired": Expired,
        "resends-spent": ResendsSpent,
        "too-many-waits": RateLimited,
    }
    by_status: dict[int, type[MaillatchError]] = {
        401: Unauthorized,
        403: Unauthorized,
        404: NotFound,
        429: RateLimited,
    }
    error = by_type.get(kind) or by_status.get(status)
    if error is None:
        error = Unhealthy if status >= 500 else InvalidRequest
    return error(detail, reason=reason)
