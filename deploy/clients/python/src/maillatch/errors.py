"""Why there is no value.

Each message says what was waited for, for how long, what did arrive, and one next step.
No message holds a word that a sender of mail wrote, besides the name of a domain.
"""

from __future__ import annotations


class MaillatchError(Exception):
    """The root of all errors of this package."""

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        #: The server's word for it, for example ``host_not_allowed``.
        self.reason = reason


class NothingArrived(MaillatchError):
    """No mail came in time."""


class NoArtifact(MaillatchError):
    """Mail came, and the server found no code or link in it that it is sure of."""


class Blocked(MaillatchError):
    """Mail came, and a rule withholds it: a sender, a host or a proof."""


class AlreadyConsumed(MaillatchError):
    """Another request has taken the value."""


class Superseded(MaillatchError):
    """A newer mail replaced the one that this request asked for."""


class Expired(MaillatchError):
    """The attempt is over: its deadline passed, or somebody finished it."""


class ResendsSpent(MaillatchError):
    """The attempt's budget of resends is used up."""


class Unauthorized(MaillatchError):
    """The key is missing, wrong, expired, or lacks a scope."""


class NotFound(MaillatchError):
    """There is no such attempt for this key."""


class InvalidRequest(MaillatchError):
    """The server refuses what was asked for; the message names the field."""


class RateLimited(MaillatchError):
    """The key has asked too often, or has too many waits open."""


class Unhealthy(MaillatchError):
    """A part of the server is not working, so nobody can say whether mail came."""


class Unreachable(Unhealthy):
    """The server does not answer at its URL."""
