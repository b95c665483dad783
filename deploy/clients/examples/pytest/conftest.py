"""How pytest-playwright starts the browser of the system, and where the site is.

``MAILLATCH_REPEAT=10`` runs each test ten times.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from playwright.sync_api import Page, expect

#: A busy machine is slow; a page that never comes is a failure all the same.
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    return {**browser_type_launch_args, "executable_path": path, "args": OPTIONS}


@pytest.fixture(scope="session")
def base_url() -> str:
    return os.environ["SITE_URL"]


@pytest.fixture(autouse=True)
def patience(page: Page) -> None:
    page.set_default_timeout(PATIENCE_MS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.fixturenames.append("repetition")
    metafunc.parametrize("repetition", range(int(os.environ.get("MAILLATCH_REPEAT", "1"))))
