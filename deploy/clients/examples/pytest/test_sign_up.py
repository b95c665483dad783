"""Sign-up by code and by link with pytest-playwright. Each test has its own attempt."""

import os

import pytest
from playwright.sync_api import Page, expect

from maillatch import Attempt


def test_sign_up_by_code(page: Page, maillatch_attempt: Attempt) -> None:
    page.goto("/")
    page.get_by_label("E-mail").fill(maillatch_attempt.address)
    page.get_by_role("button", name="Send code").click()
    page.get_by_label("Code").fill(maillatch_attempt.code().value)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading")).to_have_text("Welcome")


@pytest.mark.maillatch(kind="link", links=["app.example.com"])
def test_sign_up_by_link(page: Page, maillatch_attempt: Attempt) -> None:
    page.goto("/")
    page.get_by_label("E-mail").fill(maillatch_attempt.address)
    page.get_by_role("button", name="Send link").click()
    link = maillatch_attempt.link().url
    # The site calls itself app.example.com in its mail and runs on this machine.
    page.goto(link.replace("https://app.example.com", os.environ["SITE_URL"]))
    expect(page.get_by_role("heading")).to_have_text("Welcome")
