"""The tools for a LangChain or LangGraph agent, through MCP.

    pip install langchain-mcp-adapters
    agent = create_agent(model, await tools())
"""

import asyncio
import json
import os
import uuid

from langchain_core.tools import BaseTool
from langchain_mcp_adapters.client import MultiServerMCPClient


async def tools() -> list[BaseTool]:
    """start_attempt, wait_for_code, wait_for_link and three more."""
    server = {
        "transport": "streamable_http",
        "url": os.environ["MAILLATCH_URL"].rstrip("/") + "/mcp",
        "headers": {"Authorization": f"Bearer {os.environ['MAILLATCH_KEY']}"},
    }
    return await MultiServerMCPClient({"maillatch": server}).get_tools()


async def get_code(sign_up) -> str:
    """What an agent does with them: open, sign up, wait."""
    named = {tool.name: tool for tool in await tools()}

    async def call(name: str, **arguments: object) -> dict:
        answer = await named[name].ainvoke(arguments)
        return json.loads(answer if isinstance(answer, str) else answer[0]["text"])

    attempt = await call("start_attempt", reference=str(uuid.uuid4()))
    await asyncio.to_thread(sign_up, attempt["address"])
    found = await call("wait_for_code", attempt_id=attempt["attempt_id"], timeout_s=50)
    return found["code"]
