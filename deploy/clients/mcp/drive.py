"""Drives both transports with the official Python client, in every revision it speaks.

The environment names the server (MAILLATCH_URL, MAILLATCH_KEY), its binary
(MAILLATCH_BIN) and the sign-up site (SITE_URL).
"""

import asyncio
import os
import urllib.parse
import urllib.request
import uuid

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TOOLS = [
    "start_attempt",
    "wait_for_code",
    "wait_for_link",
    "request_resend",
    "explain_attempt",
    "finish_attempt",
]


def stdio():
    env = {name: os.environ[name] for name in ("MAILLATCH_URL", "MAILLATCH_KEY")}
    return StdioServerParameters(command=os.environ["MAILLATCH_BIN"], args=["mcp"], env=env)


def http():
    headers = {"Authorization": f"Bearer {os.environ['MAILLATCH_KEY']}"}
    client = httpx2.AsyncClient(headers=headers, timeout=70)
    return streamable_http_client(f"{os.environ['MAILLATCH_URL'].rstrip('/')}/mcp", http_client=client)


def sign_up(address: str, by: str) -> None:
    body = urllib.parse.urlencode({"email": address, "by": by}).encode()
    urllib.request.urlopen(f"{os.environ['SITE_URL']}/sign-up", body).read()


async def call(client: Client, tool: str, **arguments: object) -> dict:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None, result
    return result.structured_content


async def start(client: Client, **wish: object) -> dict:
    started = await call(client, "start_attempt", reference=str(uuid.uuid4()), **wish)
    assert started["status"] == "pending", started
    return started


async def drive(client: Client) -> None:
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, listed

    code = await start(client)
    id = code["attempt_id"]
    assert (await call(client, "wait_for_code", attempt_id=id, timeout_s=0))["status"] == "pending"
    sign_up(code["address"], "code")
    found = await call(client, "wait_for_code", attempt_id=id, timeout_s=50)
    assert found["status"] == "found" and len(found["code"]) == 6, found
    again = asyncio.gather(
        *(call(client, "wait_for_code", attempt_id=id, timeout_s=1) for _ in range(10))
    )
    assert all(one == found for one in await again)
    told = await call(client, "explain_attempt", attempt_id=id)
    assert told["status"] == "consumed", told
    ended = await call(client, "finish_attempt", attempt_id=id, outcome="succeeded")
    assert ended["status"] == "finished", ended

    link = await start(client, kind="link", link_hosts=["app.example.com"])
    sign_up(link["address"], "link")
    found = await call(client, "wait_for_link", attempt_id=link["attempt_id"], timeout_s=50)
    assert found["status"] == "found" and found["url"].startswith("http"), found

    seen = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    waiting = await start(client)
    arguments = {"attempt_id": waiting["attempt_id"], "timeout_s": 6}
    await client.call_tool("wait_for_code", arguments, progress_callback=progress)
    assert seen and seen[0][1] == 6, seen

    lost = await call(client, "wait_for_code", attempt_id="att_0", timeout_s=0)
    assert lost["status"] == "not_found", lost


async def main() -> None:
    for name, transport in (("stdio", stdio), ("http", http)):
        for mode in ("auto", "legacy"):
            async with Client(transport(), mode=mode) as client:
                await drive(client)
            print(f"python {name} {mode}: ok")


asyncio.run(main())
