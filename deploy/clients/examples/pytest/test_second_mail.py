"""What goes wrong at a site, and how a test gets on: resend, expiry, a limit of mails."""

import pytest
from playwright.sync_api import Page, expect

from maillatch import Attempt


def ask_for_code(page: Page, attempt: Attempt, path: str = "/") -> None:
    page.goto(path)
    page.get_by_label("E-mail").fill(attempt.address)
    page.get_by_role("button", name="Send code").click()


def ask_again(page: Page, answer: str) -> None:
    page.get_by_role("button", name="Send again").click()
    # The next page; typing into this one would be lost.
    expect(page.get_by_role("status")).to_have_text(answer)


def type_in(page: Page, code: str) -> None:
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Continue").click()


def test_resend_replaces_the_first_code(page: Page, maillatch_attempt: Attempt) -> None:
    ask_for_code(page, maillatch_attempt)
    first = maillatch_attempt.code().value
    maillatch_attempt.resend()
    ask_again(page, "We have sent you mail 2 of 3.")
    second = maillatch_attempt.code().value
    type_in(page, first)
    expect(page.get_by_role("status")).to_have_text("This code is wrong.")
    type_in(page, second)
    expect(page.get_by_role("heading")).to_have_text("Welcome")


def test_expired_code_is_replaced_by_a_resend(page: Page, maillatch_attempt: Attempt) -> None:
    ask_for_code(page, maillatch_attempt, "/?lifetime=0")
    type_in(page, maillatch_attempt.code().value)
    expect(page.get_by_role("status")).to_have_text("This code has expired.")
    maillatch_attempt.resend()
    ask_again(page, "We have sent you mail 2 of 3.")
    type_in(page, maillatch_attempt.code().value)
    expect(page.get_by_role("heading")).to_have_text("Welcome")


@pytest.mark.maillatch(resends=3)
def test_last_code_is_good_when_the_site_sends_no_more(
    page: Page, maillatch_attempt: Attempt
) -> None:
    ask_for_code(page, maillatch_attempt)
    for number in (2, 3):
        maillatch_attempt.code()
        maillatch_attempt.resend()
        ask_again(page, f"We have sent you mail {number} of 3.")
    last = maillatch_attempt.code().value
    maillatch_attempt.resend()
    ask_again(page, "We send you no more mails. Wait an hour.")
    type_in(page, last)
    expect(page.get_by_role("heading")).to_have_text("Welcome")
