"""A server that is killed in the middle of a wait and started again on its port."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterator
from urllib.request import urlopen

import pytest

import maillatch
from maillatch import AsyncMaillatch, Attempt
from maillatch.testing import Server

CODE = "Your verification code is 493817. It expires in ten minutes."
#: How long a busy machine may take for what is over in a moment.
PATIENCE = 180.0


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def until(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.05)


def until_waiting(server: Server) -> None:
    """Returns when the server has a wait open."""

    def is_waiting() -> bool:
        with urlopen(f"{server.ops_url}/metrics", timeout=PATIENCE) as answer:
            return b"\nmaillatch_waiting 1\n" in answer.read()

    until("a wait", is_waiting)


def crash(server: Server) -> None:
    until_waiting(server)
    server.kill()
    server.start()


def test_wait_gets_the_code_after_the_server_was_killed(
    server: Server, pool: ThreadPoolExecutor
) -> None:
    attempt = server.client().attempt()
    waiting = pool.submit(attempt.code, PATIENCE)
    for _ in range(2):
        crash(server)
    server.post_mail(attempt.address, CODE)
    assert waiting.result().value == "493817"


def test_async_wait_gets_the_code_after_the_server_was_killed(server: Server) -> None:
    async def run() -> str:
        async with await AsyncMaillatch(server.url, server.key).attempt() as attempt:
            waiting = asyncio.create_task(attempt.code(PATIENCE))
            await asyncio.to_thread(crash, server)
            await asyncio.to_thread(server.post_mail, attempt.address, CODE)
            return (await waiting).value

    assert asyncio.run(run()) == "493817"


def record_waits(attempt: Attempt, began: float) -> list[float]:
    """Notes for each request when the server may answer it, in seconds from the start."""
    ends: list[float] = []
    once = attempt._transport._once

    def noted(method: str, path: str, body: Any, key: str | None, wait: float) -> Any:
        ends.append(time.monotonic() - began + body["wait"])
        return once(method, path, body, key, wait)

    attempt._transport._once = noted  # type: ignore[method-assign]
    return ends


def test_wait_after_a_crash_asks_for_no_more_than_there_is_time(
    server: Server, pool: ThreadPoolExecutor
) -> None:
    attempt = server.client().attempt()
    ends = record_waits(attempt, time.monotonic())
    waiting: Future[maillatch.Code] = pool.submit(attempt.code, 15)
    until_waiting(server)
    server.kill()
    until("some seconds of tries", lambda: len(ends) > 5 or waiting.done())
    server.start()
    with pytest.raises((maillatch.NothingArrived, maillatch.Unreachable)):
        waiting.result()
    # A request that does not wait may be tried a moment longer.
    assert max(ends) < 16, ends


def test_server_that_stays_away_is_named_at_the_deadline(
    server: Server, pool: ThreadPoolExecutor
) -> None:
    attempt = server.client().attempt()
    waiting = pool.submit(attempt.code, 15)
    until_waiting(server)
    server.kill()
    with pytest.raises(maillatch.Unreachable) as error:
        waiting.result()
    assert server.url in str(error.value)
