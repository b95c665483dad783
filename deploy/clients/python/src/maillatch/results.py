"""What the server gives out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping


@dataclass(frozen=True)
class Code:
    """A verification code."""

    #: The code as it must be typed. It is left out of ``repr``, so that it does not
    #: reach a log by accident.
    value: str = field(repr=False)
    #: The id of the artifact, for the operator.
    artifact: str
    #: When it was given out (RFC 3339).
    consumed_at: str
    #: Whether it is proven which domain the mail comes from. An older server does not say.
    sender_verified: bool | None = None
    #: What proves it (``provider`` or ``dkim``), or why it is not proven.
    sender_proof: str | None = None

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Link:
    """A link that passed the server's checks. Nobody has fetched it."""

    url: str = field(repr=False)
    artifact: str
    consumed_at: str
    sender_verified: bool | None = None
    sender_proof: str | None = None

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True)
class Token:
    """One field of a link, given out in place of the link."""

    value: str = field(repr=False)
    artifact: str
    consumed_at: str
    sender_verified: bool | None = None
    sender_proof: str | None = None

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Status:
    """How an attempt stands. It holds no value."""

    #: ``pending``, ``ready``, ``consumed``, ``superseded``, ``blocked``,
    #: ``no_artifact``, ``nothing_arrived``, ``expired`` or ``unhealthy``.
    state: str
    #: Which rule withholds the mail, or why nothing was found in it.
    reason: str | None
    #: The domain that a list lacks, of the sender or of the link. The sender of the mail
    #: chose it.
    seen: str | None
    #: ``wait``, ``consume``, ``resend``, ``open``, ``tell_operator`` or ``nothing``.
    next: str
    #: The same in a sentence.
    hint: str
    #: When the attempt ends (RFC 3339).
    deadline: str
    resends_left: int

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Status:
        return cls(
            state=str(body["state"]),
            reason=body.get("reason"),
            seen=body.get("seen"),
            next=str(body["next"]),
            hint=str(body["hint"]),
            deadline=str(body["deadline"]),
            resends_left=int(body["resends_left"]),
        )
