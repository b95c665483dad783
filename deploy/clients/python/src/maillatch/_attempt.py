"""What the synchronous and the asynchronous client share: requests and answers."""

from __future__ import annotations

import os
import uuid
from typing import Any, Literal, Mapping, Sequence
from urllib.parse import urlsplit

from ._transport import Answer
from .errors import (
    AlreadyConsumed,
    Blocked,
    Expired,
    InvalidRequest,
    MaillatchError,
    NoArtifact,
    NothingArrived,
    Superseded,
    Unhealthy,
)
from .results import Code, Link, Status, Token

Kind = Literal["code", "link", "either"]

#: How long one request waits on the server. Proxies often cut a request at 60 s.
ONE_WAIT_SECONDS = 25.0
#: For how long a request that does not wait is tried.
LEAST_PATIENCE_SECONDS = 0.9
#: How long a wait takes if nothing else is said.
TIMEOUT_SECONDS = 90.0


def default_timeout() -> float:
    """How long a wait takes that names no timeout."""
    said = os.environ.get("MAILLATCH_TIMEOUT")
    try:
        return float(said) if said else TIMEOUT_SECONDS
    except ValueError:
        raise InvalidRequest(f"MAILLATCH_TIMEOUT must be a number of seconds: {said}") from None


def wish(
    *,
    kind: Kind,
    senders: Sequence[str],
    links: Sequence[str] | None,
    inbox: str | None,
    deadline: int,
    resends: int,
    token: str | None,
    expect: Mapping[str, int] | None,
    verified: bool,
    reference: str | None,
) -> dict[str, Any]:
    """The body that opens an attempt."""
    body: dict[str, Any] = {"kind": kind, "deadline": deadline, "resends": resends}
    if senders:
        body["from"] = list(senders)
    optional = {"links": links, "inbox": inbox, "token": token}
    if expect is not None:
        body["expect"] = dict(expect)
    body.update({name: value for name, value in optional.items() if value is not None})
    if verified:
        body["require"] = "verified"
    # The same reference is the same attempt, so opening may be repeated safely.
    body["reference"] = reference or f"py-{uuid.uuid4()}"
    return body


class Progress:
    """How far one attempt has come: which value is asked for next, and under which key."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.id = str(body["id"])
        self.address = str(body["inbox"])
        self.kind = str(body["kind"])
        self.has_value = False
        self._taken = 0
        self._resends = 0

    @property
    def consume_key(self) -> str:
        """The same for every repetition of one request, and another one for the next."""
        return f"{self.id}-value-{self._taken + 1}"

    @property
    def resend_key(self) -> str:
        return f"{self.id}-resend-{self._resends + 1}"

    def taken(self) -> None:
        self._taken += 1
        self.has_value = True

    def resent(self) -> None:
        self._resends += 1

    def expect(self, wanted: str) -> None:
        """Fails before anything is consumed if the attempt is for something else."""
        if self.kind not in (wanted, "either"):
            raise InvalidRequest(
                f"this attempt waits for a {self.kind}, not for a {wanted}. "
                f'Open another one with kind="{wanted}"'
            )

    def value(self, answer: Answer) -> Code | Link | Token | None:
        """The value of an answer, if it holds one."""
        body = answer.body
        if body.get("state") != "consumed" or "artifact" not in body or "kind" not in body:
            return None
        token, value = body.get("token"), body.get("value")
        if token is None and value is None:
            return None
        self.taken()
        origin: dict[str, Any] = {
            "artifact": str(body["artifact"]),
            "consumed_at": str(body["consumed_at"]),
            "sender_verified": body.get("sender_verified"),
            "sender_proof": body.get("sender_proof"),
        }
        if token is not None:
            return Token(value=str(token), **origin)
        if body["kind"] == "link":
            return Link(url=str(value), **origin)
        return Code(value=str(value), **origin)

    def miss(self, status: Status, wanted: str, waited: float) -> MaillatchError:
        """Why there is no value, in words."""
        began = f"waited {waited:.0f} s for a {wanted} at {self.address}"
        seen = f", seen {status.seen}" if status.seen else ""
        why = f" ({status.reason}{seen})" if status.reason else ""
        told = {
            "pending": (NothingArrived, "no mail arrived"),
            "nothing_arrived": (NothingArrived, "no mail arrived"),
            "no_artifact": (NoArtifact, f"mail arrived, but held no {wanted} that is certain{why}"),
            "blocked": (Blocked, f"mail arrived, but a rule withholds it{why}"),
            "consumed": (AlreadyConsumed, "the value was given to another request"),
            "superseded": (Superseded, "a newer mail replaced the value"),
            "expired": (Expired, f"the attempt is over{why}"),
            "unhealthy": (Unhealthy, "the server cannot process mail at the moment"),
        }
        error, text = told.get(status.state, (NothingArrived, f"the state is {status.state}"))
        return error(f"{began}: {text}. Next: {status.hint}", reason=status.reason)


def is_over(status: Status) -> bool:
    """Whether another wait cannot bring a value."""
    return status.state in ("expired", "consumed", "nothing_arrived")


def check_host(link: Link, host: str | None) -> None:
    """Fails if a link leads to another host than the caller expects."""
    if host is None:
        return
    found = urlsplit(link.url).hostname or ""
    if found != host.lower() and not found.endswith("." + host.lower()):
        raise Blocked(
            f"the link leads to {found}, not to {host}. "
            f'Open the attempt with links=["{host}"], so that the server checks it',
            reason="host_not_expected",
        )
