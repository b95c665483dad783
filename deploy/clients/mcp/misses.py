"""Every kind of miss with the official Python client, over both transports.

The environment of drive.py, and besides: keys that lack a scope (READER_KEY), belong to
another caller (OTHER_KEY) or are used up here (BUSY_KEY), and STALL_URL (stall.mjs).
"""

import asyncio
import os
import time
import urllib.request
import uuid
from contextlib import AsyncExitStack
from typing import Any, Callable

from mcp import Client

from session import PATIENCE_S, URL, call, http, sign_up, start, stdio


async def expect(client: Client, started: dict[str, Any], status: str, next: str) -> dict[str, Any]:
    """Waits until a wait for a code answers with a status and a next step."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        told = await call(client, "wait_for_code", attempt_id=started["attempt_id"], timeout_s=1)
        if told["status"] == status:
            assert next in told["next"], told
            assert "code" not in told, told
            return told
        assert time.monotonic() < deadline, (status, told)


async def misses(client: Client, other: Client) -> None:
    await expect(client, await start(client), "pending", "wait_for_code again")

    blocked = await start(client, **{"from": ["other.test"]})
    await asyncio.to_thread(sign_up, blocked["address"], "code")
    told = await expect(client, blocked, "blocked", "start_attempt")
    assert told["reason"] == "sender_not_allowed", told

    empty = await start(client)
    await asyncio.to_thread(sign_up, empty["address"], "link")
    told = await expect(client, empty, "no_artifact", "start_attempt")
    assert told["reason"] == "link_instead", told

    await expect(client, await start(client, expires_in_s=1), "nothing_arrived", "start_attempt")

    ended = await start(client)
    await call(client, "finish_attempt", attempt_id=ended["attempt_id"], outcome="abandoned")
    await expect(client, ended, "expired", "start_attempt")

    await expect(client, await start(client, kind="link"), "other_kind", "wait_for_link")

    taken = await start(client)
    await asyncio.to_thread(sign_up, taken["address"], "code")
    found = await call(other, "wait_for_code", attempt_id=taken["attempt_id"], timeout_s=50)
    assert found["status"] == "found", found
    await expect(client, taken, "already_consumed", "request_resend")

    await expect(client, {"attempt_id": "att_0"}, "not_found", "start_attempt")
    wrong = await call(client, "start_attempt", reference="r", expires_in_s=0)
    assert wrong["status"] == "invalid" and "expires_in_s" in wrong["next"], wrong


async def forbidden(reader: Client) -> None:
    told = await call(reader, "start_attempt", reference="r")
    assert told["status"] == "forbidden" and "scope attempt" in told["next"], told


async def busy(client: Client) -> None:
    """The server allows sixty changes of attempts in a minute."""
    for _ in range(1000):
        told = await call(client, "start_attempt", reference=str(uuid.uuid4()))
        if told["status"] != "pending":
            assert told["status"] == "busy" and "same arguments" in told["next"], told
            return
    raise AssertionError("the server is never busy")


async def unhealthy(client: Client) -> None:
    started = await start(client)
    await asyncio.to_thread(sign_up, started["address"], "code")
    told = await expect(client, started, "unhealthy", "operator")
    assert told["reason"] == "worker", told


def stall() -> None:
    request = urllib.request.Request(f"{os.environ['STALL_URL']}/stall?url={URL}", method="POST")
    urllib.request.urlopen(request, timeout=PATIENCE_S).close()


async def without_a_server() -> None:
    """Over HTTP, a wrong key or an unavailable server is an error of the transport."""
    async with Client(stdio("mlk_wrong")) as client:
        told = await call(client, "start_attempt", reference="r")
        assert told["status"] == "unauthorized", told
    async with Client(stdio(os.environ["MAILLATCH_KEY"], "http://127.0.0.1:9")) as client:
        told = await call(client, "start_attempt", reference="r")
        assert told["status"] == "unavailable", told


async def main() -> None:
    keys = ("MAILLATCH_KEY", "OTHER_KEY", "READER_KEY", "BUSY_KEY")
    transports: tuple[Callable[[str], Any], ...] = (stdio, http)
    async with AsyncExitStack() as stack:
        clients = []
        for transport in transports:
            opened = [Client(transport(os.environ[key])) for key in keys]
            clients.append([await stack.enter_async_context(client) for client in opened])
        for client, other, reader, spent in clients:
            await asyncio.gather(misses(client, other), forbidden(reader), busy(spent))
        # The only worker does nothing from here on.
        await asyncio.to_thread(stall)
        await asyncio.gather(*(unhealthy(client) for client, *_ in clients))
    await without_a_server()
    print("python: every miss")


asyncio.run(main())
