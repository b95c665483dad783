"""Runs each example beside the sign-up site (tests/signup/with-site)."""

import asyncio
import json
import os
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import browser_tool
import function_tool

from maillatch import AsyncMaillatch, Maillatch

HERE = Path(__file__).parent


def trigger(address: str) -> None:
    form = urllib.parse.urlencode({"email": address, "by": "code"}).encode()
    urllib.request.urlopen(os.environ["SITE_URL"] + "/sign-up", form, timeout=30).close()


def test_shell_script_signs_up() -> None:
    done = subprocess.run([HERE / "sign_up.sh"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "You are signed up"


def test_function_tool_answers_with_the_code_and_the_same_again() -> None:
    client = Maillatch()
    attempt = client.attempt()
    trigger(attempt.address)
    first = json.loads(function_tool.call_tool(attempt, "get_code", "{}"))
    assert first["state"] == "found" and len(first["code"]) == 6
    again = json.loads(function_tool.call_tool(client.resume(attempt.id), "get_code", ""))
    assert again == first


def test_function_tool_explains_a_miss() -> None:
    attempt = Maillatch().attempt(deadline=1)
    answer = json.loads(function_tool.call_tool(attempt, "get_code", "{}"))
    assert answer["state"] in ("NothingArrived", "Expired")
    assert "Next: " in answer["next"]


def test_browser_tool_returns_the_code() -> None:
    async def run() -> str:
        async with await AsyncMaillatch().attempt() as attempt:
            await asyncio.to_thread(trigger, attempt.address)
            return await browser_tool.register(lambda _: lambda f: f, attempt)()

    assert len(asyncio.run(run())) == 6


def test_examples_are_short() -> None:
    for example in ("sign_up.sh", "function_tool.py", "browser_tool.py", "langchain_tools.py"):
        assert len((HERE / example).read_text().splitlines()) < 40
