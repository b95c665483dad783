"""Sign-up by code and by link in a real browser. Run it beside the sign-up site:

    tests/signup/with-site pytest -n 4 tests/test_signup.py
"""

from __future__ import annotations

import os
from typing import Iterator

import pytest

from maillatch import Attempt, Maillatch

from playwright.sync_api import Browser, Page, expect, sync_playwright

SITE = os.environ.get("SITE_URL", "")
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
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("number", range(10))
def test_sign_up_by_code(page: Page, maillatch_attempt: Attempt, number: int) -> None:
    page.goto(SITE)
    page.get_by_label("E-mail").fill(maillatch_attempt.address)
    page.get_by_role("button", name="Send code").click()
    page.get_by_label("Code").fill(maillatch_attempt.code().value)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading")).to_have_text("Welcome")


@pytest.mark.parametrize("number", range(10))
@pytest.mark.maillatch(kind="link", links=["app.example.com"])
def test_sign_up_by_link(page: Page, maillatch_attempt: Attempt, number: int) -> None:
    page.goto(SITE)
    page.get_by_label("E-mail").fill(maillatch_attempt.address)
    page.get_by_role("button", name="Send link").click()
    link = maillatch_attempt.link()
    # The site calls itself app.example.com in its mail and runs on this machine.
    page.goto(link.url.replace("https://app.example.com", SITE))
    expect(page.get_by_role("heading")).to_have_text("Welcome")


def test_resend_replaces_the_first_code(page: Page, maillatch_client: Maillatch) -> None:
    with maillatch_client.attempt() as attempt:
        page.goto(SITE)
        page.get_by_label("E-mail").fill(attempt.address)
        page.get_by_role("button", name="Send code").click()
        first = attempt.code().value
        attempt.resend()
        page.get_by_role("button", name="Send again").click()
        second = attempt.code().value
        assert second != first
        page.get_by_label("Code").fill(second)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("heading")).to_have_text("Welcome")
