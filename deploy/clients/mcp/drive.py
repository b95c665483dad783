"""Drives both transports with the official Python client, in every revision it speaks.

The environment names the server (MAILLATCH_URL, MAILLATCH_KEY), its binary
(MAILLATCH_BIN) and the sign-up site (SITE_URL).
"""

import asyncio
import os
import urllib.request

from mcp import Client

from session import URL, call, http, sign_up, start, stdio

TOOLS = [
    "start_attempt",
    "wait_for_code",
    "wait_for_link",
    "request_resend",
    "explain_attempt",
    "finish_attempt",
]


def disclosures() -> int:
    """How many values the server has given out for the first time."""
    with urllib.request.urlopen(f"{os.environ['OPS_URL']}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    counts = [line for line in lines if "consumed_total" in line and 'outcome="first"' in line]
    return sum(int(line.rpartition(" ")[2]) for line in counts)


async def code(client: Client) -> None:
    started = await start(client)
    id = started["attempt_id"]
    assert (await call(client, "wait_for_code", attempt_id=id, timeout_s=0))["status"] == "pending"
    before = disclosures()
    waits = [
        asyncio.create_task(call(client, "wait_for_code", attempt_id=id, timeout_s=50))
        for _ in range(50)
    ]
    await asyncio.to_thread(sign_up, started["address"], "code")
    found = await asyncio.gather(*waits)
    assert found[0]["status"] == "found" and len(found[0]["code"]) == 6, found[0]
    assert all(one == found[0] for one in found), found
    assert disclosures() - before == 1, (before, disclosures())
    told = await call(client, "explain_attempt", attempt_id=id)
    assert told["status"] == "consumed", told
    ended = await call(client, "finish_attempt", attempt_id=id, outcome="succeeded")
    assert ended["status"] == "finished", ended


async def link(client: Client) -> None:
    started = await start(client, kind="link", link_hosts=["app.example.com"])
    await asyncio.to_thread(sign_up, started["address"], "link")
    found = await call(client, "wait_for_link", attempt_id=started["attempt_id"], timeout_s=50)
    assert found["status"] == "found" and found["url"].startswith("http"), found


async def progress(client: Client) -> None:
    seen = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    waiting = await start(client)
    arguments = {"attempt_id": waiting["attempt_id"], "timeout_s": 6}
    await client.call_tool("wait_for_code", arguments, progress_callback=note)
    assert seen and seen[0][1] == 6, seen


async def drive(client: Client) -> None:
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, listed
    # One after the other: disclosures are counted.
    await code(client)
    await asyncio.gather(link(client), progress(client))


async def main() -> None:
    for name, transport in (("stdio", stdio), ("http", http)):
        for mode in ("auto", "legacy"):
            async with Client(transport(os.environ["MAILLATCH_KEY"]), mode=mode) as client:
                await drive(client)
            print(f"python {name} {mode}: ok")


asyncio.run(main())
