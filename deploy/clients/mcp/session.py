"""The official Python client over both transports, and what every driver does with it."""

from __future__ import annotations

import os
import urllib.parse
import urllib.request
import uuid
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

URL = os.environ["MAILLATCH_URL"].rstrip("/")
#: A wait takes at most 50 s; the rest is for a busy machine.
PATIENCE_S = 180


def stdio(key: str, url: str = URL) -> Any:
    env = {"MAILLATCH_URL": url, "MAILLATCH_KEY": key}
    return StdioServerParameters(command=os.environ["MAILLATCH_BIN"], args=["mcp"], env=env)


def http(key: str) -> Any:
    headers = {"Authorization": f"Bearer {key}"}
    client = httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S)
    return streamable_http_client(f"{URL}/mcp", http_client=client)


def sign_up(address: str, by: str) -> None:
    body = urllib.parse.urlencode({"email": address, "by": by}).encode()
    urllib.request.urlopen(f"{os.environ['SITE_URL']}/sign-up", body, timeout=PATIENCE_S).close()


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None, result
    return result.structured_content


async def start(client: Client, **wish: object) -> dict[str, Any]:
    started = await call(client, "start_attempt", reference=str(uuid.uuid4()), **wish)
    assert started["status"] == "pending", started
    return started
