"""Client of a Maillatch server.

    from maillatch import Maillatch

    client = Maillatch()                        # MAILLATCH_URL and MAILLATCH_KEY
    with client.attempt(senders=["example.com"]) as attempt:
        sign_up(email=attempt.address)
        code = attempt.code(timeout=90)
        type_in(code.value)

Open the attempt before you trigger the mail: only mail that arrives after that moment
counts. A value is given out once. Every call may be repeated: the client sends the
same idempotency key again, so a retry gets the same answer.
"""

from ._client import Attempt, Maillatch
from ._async_client import AsyncAttempt, AsyncMaillatch
from .errors import (
    AlreadyConsumed,
    Blocked,
    Expired,
    InvalidRequest,
    MaillatchError,
    NoArtifact,
    NotFound,
    NothingArrived,
    RateLimited,
    ResendsSpent,
    Superseded,
    Unauthorized,
    Unhealthy,
    Unreachable,
)
from .results import Code, Link, Status, Token

__version__ = "0.1.0"

__all__ = [
    "AlreadyConsumed",
    "AsyncAttempt",
    "AsyncMaillatch",
    "Attempt",
    "Blocked",
    "Code",
    "Expired",
    "InvalidRequest",
    "Link",
    "Maillatch",
    "MaillatchError",
    "NoArtifact",
    "NotFound",
    "NothingArrived",
    "RateLimited",
    "ResendsSpent",
    "Status",
    "Superseded",
    "Token",
    "Unauthorized",
    "Unhealthy",
    "Unreachable",
]
