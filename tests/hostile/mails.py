"""Hostile mails among ordinary ones: 200 in a minute of 50 ordinary mails a second.

Passes if the server did not restart and stayed below 512 MB, every ordinary mail gave its
item, 99 % of them within two seconds of the post, and no thread was left behind.
"""

import asyncio
import json
import random
import socket
import sys
import time

from server import KEY, Connection, Server, ordinary_mail, percentile, signed_post

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
RATE = 50
HOSTILE = 200
INBOX = "ordinary@inbox.test"
MOST_MEMORY_KIB = 512_000
MOST_SECONDS = 2.0


def html(body: str) -> bytes:
    head = "From: a@example.com\nContent-Type: text/html; charset=utf-8\n\n"
    return (head + body).encode()


def signed_by_silent_domain(number: int) -> bytes:
    domain = f"silent{number}.example"
    return (
        f"DKIM-Signature: v=1; a=rsa-sha256; d={domain}; s=s; h=from:subject:date:to; "
        f"t={int(time.time())}; bh=AAAA; b=AAAA\r\nFrom: a@{domain}\r\nTo: hostile@inbox.test\r\n"
        f"Subject: code\r\nDate: Sun, 15 Nov 2026 10:00:00 +0000\r\n\r\nYour code is 482913\r\n"
    ).encode()


def hostile_mail(number: int) -> bytes:
    """One mail of each kind in turn: time, memory, DNS, nesting."""
    kinds = [
        lambda: b"From: a@example.com\n\nVerify https://example.com/" + b")" * 64_000,
        lambda: html(
            "<style>" + "[title*=xy] b{display:none}" * 200 + "</style>"
            f"<i title='{'x' * 20_000}'>" + "<b>x</b>" * 12_000
        ),
        lambda: html(
            "<style>" + ".a .b{display:none}.a{color:red}" * 40 + "</style>"
            + f"<p class='{'a ' * 32}'>x" * 9_000
        ),
        lambda: html(
            "<style>" + ",".join(f".c{n}" for n in range(400))
            + "{" + "color:#000;opacity:.9;" * 45_000 + "}</style>x"
        ),
        lambda: html("<div>" * 400_000),
        lambda: signed_by_silent_domain(number),
        lambda: signed_by_silent_domain(number),
        lambda: b"Content-Type:message/rfc822\n\n" * 40_000,
        lambda: b"".join(
            b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n)
            for n in range(50_000)
        ),
        lambda: b"From: a@example.com\n\n" + b"Your code is 482913\n" * 300_000,
    ]
    return kinds[number % len(kinds)]()


async def post_at(connections: asyncio.Queue, moment: float, recipient: str, raw: bytes):
    """Posts a mail at a moment; returns when, how long it took, and the status."""
    await asyncio.sleep(max(0.0, moment - time.monotonic()))
    body, headers = signed_post(recipient, raw)
    connection = await connections.get()
    began = time.monotonic()
    try:
        status, _ = await connection.send("POST", "/hooks/mail", body, headers)
    finally:
        connections.put_nowait(connection)
    return began, time.monotonic() - began, status


async def listen(port: int, seen: dict[str, float]) -> None:
    """Notes when each item of the ordinary inbox is in the stream."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    writer.write(
        f"GET /v1/events?inbox={INBOX} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {KEY}\r\n\r\n".encode()
    )
    while line := await reader.readline():
        if line.startswith(b"data:"):
            item = json.loads(line[5:])
            seen.setdefault(item["id"], time.monotonic())


async def main(server: Server) -> bool:
    seen: dict[str, float] = {}
    listening = asyncio.create_task(listen(server.port, seen))
    connections: asyncio.Queue = asyncio.Queue()
    for _ in range(32):
        connections.put_nowait(Connection(server.port))
    # A first mail, so that lexicons and caches are there and the threads can be counted.
    await post_at(connections, 0, INBOX, ordinary_mail(800_000))
    while not seen:
        await asyncio.sleep(0.05)
    threads_before = server.status("Threads")
    start = time.monotonic() + 0.5
    ordinary = [
        post_at(connections, start + n / RATE, INBOX, ordinary_mail(n))
        for n in range(SECONDS * RATE)
    ]
    chance = random.Random(7)
    hostile = [
        post_at(connections, start + chance.random() * SECONDS, "hostile@inbox.test", raw)
        for raw in map(hostile_mail, range(HOSTILE * SECONDS // 60))
    ]
    posted, hostile_posts = await asyncio.gather(
        asyncio.gather(*ordinary), asyncio.gather(*hostile)
    )
    end = time.monotonic() + 60
    while len(seen) < len(posted) + 1 and time.monotonic() < end:
        await asyncio.sleep(0.1)
    delays = await delays_by_mail(connections, posted, seen)
    await asyncio.sleep(5)
    return report(server, posted, hostile_posts, delays, threads_before)


async def delays_by_mail(connections, posted, seen) -> list[float]:
    """From post to item: each item is consumed, and its code tells which mail it was."""
    connection = await connections.get()
    delays = []
    for identity, moment in seen.items():
        headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": identity}
        path = f"/v1/artifacts/{identity}/consume"
        status, answer = await connection.send("POST", path, b"", headers)
        number = int(json.loads(answer)["value"]) - 100_000 if status == 200 else -1
        if 0 <= number < len(posted):
            delays.append(moment - posted[number][0])
    return delays


def report(server, posted, hostile_posts, delays, threads_before) -> bool:
    memory, threads = server.status("VmHWM"), server.status("Threads")
    refused = sum(status >= 300 for _, _, status in posted)
    print(f"ordinary mails   {len(posted)}, refused {refused}, items {len(delays)}")
    print(f"hostile mails    {len(hostile_posts)}")
    for name, share in (("p50", 0.5), ("p99", 0.99), ("most", 1.0)):
        print(f"post to item {name:<4} {percentile(delays, share):.3f} s")
    print(f"peak memory      {memory // 1000} MB")
    print(f"threads          {threads_before} before, {threads} after")
    return (
        server.process.poll() is None
        and len(delays) == len(posted)
        and refused == 0
        and percentile(delays, 0.99) <= MOST_SECONDS
        and memory <= MOST_MEMORY_KIB
        and threads <= threads_before + 8
    )


if __name__ == "__main__":
    # A DNS server that never answers.
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    target = Server(sys.argv[1], dns=silent.getsockname()[1])
    try:
        passed = asyncio.run(main(target))
    finally:
        target.stop()
    print("passed" if passed else f"failed; see {target.directory}/server.log")
    sys.exit(0 if passed else 1)
