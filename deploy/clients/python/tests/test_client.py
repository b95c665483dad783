"""The client against a real server."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import maillatch
from maillatch import AsyncMaillatch, Maillatch
from maillatch.testing import Server

CODE = "Your verification code is 493817. It expires in ten minutes."
LINK = "Confirm your e-mail address: https://app.example.com/verify?code=Zk3vQ9pLwX2m"


def post_later(server: Server, to: str, text: str, seconds: float) -> None:
    threading.Timer(seconds, server.post_mail, (to, text)).start()


def until_state(attempt: maillatch.Attempt, state: str) -> None:
    """Returns when the mail is processed."""
    deadline = time.monotonic() + 180
    while attempt.status().state != state:
        assert time.monotonic() < deadline, f"never {state}"
        time.sleep(0.05)


def test_code_arrives_while_the_client_waits(maillatch_server: Server) -> None:
    with maillatch_server.client().attempt(senders=["example.com"]) as attempt:
        post_later(maillatch_server, attempt.address, CODE, 0.5)
        code = attempt.code(timeout=180)
    assert code.value == "493817"
    assert "493817" not in repr(code)


def test_code_of_the_expected_form_is_given(maillatch_server: Server) -> None:
    attempt = maillatch_server.client().attempt(expect={"digits": 5})
    text = "Your verification code is 482913. Your security code is 77120."
    maillatch_server.post_mail(attempt.address, text)
    assert attempt.code(timeout=180).value == "77120"


def test_mail_from_before_the_attempt_is_not_for_it(maillatch_server: Server) -> None:
    client = maillatch_server.client()
    first = client.attempt()
    maillatch_server.post_mail(first.address, CODE)
    assert first.code(timeout=180).value == "493817"
    second = client.attempt(inbox=first.address)
    with pytest.raises(maillatch.NothingArrived) as error:
        second.code(timeout=1)
    assert re.search(r"waited \d+ s for a code", str(error.value))
    assert "Next: " in str(error.value)


def test_repeated_consume_gets_the_same_value(maillatch_server: Server) -> None:
    client = maillatch_server.client()
    attempt = client.attempt()
    maillatch_server.post_mail(attempt.address, CODE)
    with ThreadPoolExecutor(50) as pool:
        twins = [client.resume(attempt.id) for _ in range(50)]
        codes = set(pool.map(lambda twin: twin.code(timeout=180).value, twins))
    assert codes == {"493817"}


def test_value_says_whether_its_sender_is_proven(maillatch_server: Server) -> None:
    client = maillatch_server.client()
    of_code, of_token = client.attempt(), client.attempt(token="code", links=["app.example.com"])
    maillatch_server.post_mail(of_code.address, CODE)
    maillatch_server.post_mail(of_token.address, LINK)
    for value in (of_code.code(timeout=180), of_token.token(timeout=180)):
        assert (value.sender_verified, value.sender_proof) == (False, "no_signature")


def test_another_key_finds_no_such_attempt(maillatch_server: Server) -> None:
    attempt = maillatch_server.client().attempt()
    with pytest.raises(maillatch.Unauthorized):
        Maillatch(maillatch_server.url, "mlk_wrong").resume(attempt.id)


def test_link_is_given_whole_and_checked_for_its_host(maillatch_server: Server) -> None:
    with maillatch_server.client().attempt(kind="link", links=["app.example.com"]) as attempt:
        maillatch_server.post_mail(attempt.address, LINK)
        link = attempt.link(timeout=180, host="example.com")
    assert link.url.startswith("https://app.example.com/verify?")


def test_link_to_another_host_is_blocked(maillatch_server: Server) -> None:
    attempt = maillatch_server.client().attempt(kind="link", links=["bank.test"])
    maillatch_server.post_mail(attempt.address, LINK)
    until_state(attempt, "blocked")
    with pytest.raises(maillatch.Blocked) as error:
        attempt.link(timeout=0)
    assert error.value.reason == "host_not_allowed"


def test_token_is_one_field_of_the_link(maillatch_server: Server) -> None:
    with maillatch_server.client().attempt(token="code", links=["app.example.com"]) as attempt:
        maillatch_server.post_mail(attempt.address, LINK)
        assert attempt.token(timeout=180).value == "Zk3vQ9pLwX2m"


def test_mail_without_a_code_is_explained(maillatch_server: Server) -> None:
    attempt = maillatch_server.client().attempt()
    maillatch_server.post_mail(attempt.address, "Welcome aboard. We are glad to have you.")
    until_state(attempt, "no_artifact")
    with pytest.raises(maillatch.NoArtifact) as error:
        attempt.code(timeout=0)
    assert error.value.reason


def test_resend_budget_is_kept(maillatch_server: Server) -> None:
    attempt = maillatch_server.client().attempt(resends=1)
    assert attempt.resend() == 0
    with pytest.raises(maillatch.ResendsSpent):
        attempt.resend()


def test_finished_attempt_is_expired(maillatch_server: Server) -> None:
    attempt = maillatch_server.client().attempt()
    attempt.finish("abandoned")
    with pytest.raises(maillatch.Expired):
        attempt.code(timeout=5)


def test_same_reference_is_the_same_attempt(maillatch_server: Server) -> None:
    client = maillatch_server.client()
    assert client.attempt(reference="job-7").id == client.attempt(reference="job-7").id


def test_wrong_kind_is_refused_before_anything_is_consumed(maillatch_server: Server) -> None:
    attempt = maillatch_server.client().attempt(kind="link")
    with pytest.raises(maillatch.InvalidRequest):
        attempt.code(timeout=1)


def test_missing_server_is_named() -> None:
    client = Maillatch("http://127.0.0.1:1", "mlk_x")
    began = time.monotonic()
    with pytest.raises(maillatch.Unreachable) as error:
        client._transport.call("GET", "/v1/attempts/att_x", patience=1)
    assert "127.0.0.1:1" in str(error.value)
    assert time.monotonic() - began < 10


def test_async_clients_get_their_own_codes(maillatch_server: Server) -> None:
    async def one(client: AsyncMaillatch, number: int) -> bool:
        async with await client.attempt() as attempt:
            text = f"Your verification code is {number}."
            await asyncio.to_thread(maillatch_server.post_mail, attempt.address, text)
            return (await attempt.code(timeout=180)).value == str(number)

    async def all_at_once() -> list[bool]:
        client = AsyncMaillatch(maillatch_server.url, maillatch_server.key)
        return await asyncio.gather(*(one(client, 483_100 + n) for n in range(20)))

    assert all(asyncio.run(all_at_once()))


@pytest.mark.maillatch(kind="link", links=["app.example.com"])
def test_fixture_is_opened_as_its_marker_says(
    maillatch_attempt: maillatch.Attempt, maillatch_server: Server
) -> None:
    maillatch_server.post_mail(maillatch_attempt.address, LINK)
    assert maillatch_attempt.link(timeout=180).url.endswith("code=Zk3vQ9pLwX2m")
