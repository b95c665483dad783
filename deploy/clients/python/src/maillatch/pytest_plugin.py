"""Fixtures for pytest.

``maillatch_attempt``: a fresh attempt for each test, safe in parallel.
``maillatch_client``: the client behind it.
``maillatch_server``: the private server, with ``--maillatch-server auto``.

Without the option the fixtures use ``MAILLATCH_URL`` and ``MAILLATCH_KEY``.
"""

from __future__ import annotations

from typing import Iterator

import pytest

from ._client import Attempt, Maillatch
from .testing import Server


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("maillatch")
    group.addoption(
        "--maillatch-server",
        default=None,
        metavar="auto|URL",
        help="auto: start a private server for this run; URL: use the one there",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "maillatch(**wish): how maillatch_attempt is opened, for example "
        '@pytest.mark.maillatch(kind="link", links=["app.example.com"])',
    )


@pytest.fixture(scope="session")
def maillatch_server() -> Iterator[Server]:
    """A server that lives as long as this test session."""
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def maillatch_client(request: pytest.FixtureRequest) -> Maillatch:
    """The client of the server that the option or the environment names."""
    place = request.config.getoption("--maillatch-server")
    if place == "auto":
        server: Server = request.getfixturevalue("maillatch_server")
        return server.client()
    return Maillatch(place)


@pytest.fixture
def maillatch_attempt(
    request: pytest.FixtureRequest, maillatch_client: Maillatch
) -> Iterator[Attempt]:
    """An attempt of this test alone; it is finished when the test ends."""
    marker = request.node.get_closest_marker("maillatch")
    with maillatch_client.attempt(**(marker.kwargs if marker else {})) as attempt:
        yield attempt
