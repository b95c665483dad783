"""Runs the example for LangChain beside the sign-up site."""

import asyncio
import os
import sys
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import langchain_tools


def sign_up(address: str) -> None:
    body = urllib.parse.urlencode({"email": address, "by": "code"}).encode()
    urllib.request.urlopen(os.environ["SITE_URL"] + "/sign-up", body, timeout=30).close()


code = asyncio.run(langchain_tools.get_code(sign_up))
assert len(code) == 6, code
