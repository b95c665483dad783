"""The asynchronous client: the synchronous one, on threads of its own.

A wait is one blocking read. Threads carry that without a second HTTP stack and without
a dependency; a process that waits for hundreds of codes at once sets ``workers``.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Callable, TypeVar

from ._client import Attempt, Maillatch
from .results import Code, Link, Status, Token

T = TypeVar("T")


class AsyncMaillatch:
    """A Maillatch server, for ``asyncio``."""

    def __init__(
        self, url: str | None = None, key: str | None = None, *, workers: int = 64
    ) -> None:
        self._client = Maillatch(url, key)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="maillatch")

    @property
    def url(self) -> str:
        return self._client.url

    async def attempt(self, **wish: Any) -> AsyncAttempt:
        """Opens an attempt; the arguments are those of :meth:`Maillatch.attempt`."""
        return AsyncAttempt(self, await self._run(partial(self._client.attempt, **wish)))

    async def resume(self, attempt_id: str) -> AsyncAttempt:
        """An attempt that was opened before."""
        return AsyncAttempt(self, await self._run(partial(self._client.resume, attempt_id)))

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)


class AsyncAttempt:
    """One try to get a code or a link. As a context manager it finishes itself."""

    def __init__(self, client: AsyncMaillatch, attempt: Attempt) -> None:
        self._client = client
        self._attempt = attempt

    @property
    def id(self) -> str:
        return self._attempt.id

    @property
    def address(self) -> str:
        """The address to sign up with."""
        return self._attempt.address

    async def code(self, timeout: float | None = None) -> Code:
        """Waits for the code and takes it."""
        return await self._client._run(partial(self._attempt.code, timeout))

    async def link(self, timeout: float | None = None, *, host: str | None = None) -> Link:
        """Waits for the link and takes it."""
        return await self._client._run(partial(self._attempt.link, timeout, host=host))

    async def token(self, timeout: float | None = None) -> Token:
        """Waits for the field of the link that the attempt was opened with."""
        return await self._client._run(partial(self._attempt.token, timeout))

    async def status(self) -> Status:
        """How the attempt stands."""
        return await self._client._run(self._attempt.status)

    async def resend(self) -> int:
        """Counts a resend and returns how many are left."""
        return await self._client._run(self._attempt.resend)

    async def finish(self, outcome: str | None = None) -> None:
        """Ends the attempt."""
        await self._client._run(partial(self._attempt.finish, outcome))

    async def __aenter__(self) -> AsyncAttempt:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client._run(partial(self._attempt.__exit__, kind, error, trace))
