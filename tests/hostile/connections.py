"""A thousand connections that trickle a body beside 100 signed posts a second.

Passes if every signed post is answered 2xx and 99 % of them take at most twice as long as
without these connections. The connections come from a process of their own: one event loop
for both would measure how long this script waits for itself.
"""

import asyncio
import multiprocessing
import random
import statistics
import sys
import time

from server import Connection, Server, ordinary_mail, percentile, signed_post

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
ROUNDS = 5
RATE = 100
STRANGERS = 1_000


async def post_for(port: int, seconds: int) -> list[tuple[float, int]]:
    """Posts signed mails at the rate; returns the time and the status of each."""
    connections: asyncio.Queue = asyncio.Queue()
    for _ in range(32):
        connections.put_nowait(Connection(port))
    start = time.monotonic() + 0.2

    async def one(number: int) -> tuple[float, int]:
        moment = start + number / RATE
        await asyncio.sleep(max(0.0, moment - time.monotonic()))
        body, headers = signed_post(f"o{number}@inbox.test", ordinary_mail(number))
        connection = await connections.get()
        try:
            status, _ = await connection.send("POST", "/hooks/mail", body, headers)
        finally:
            connections.put_nowait(connection)
        return time.monotonic() - moment, status

    return await asyncio.gather(*(one(number) for number in range(seconds * RATE)))


async def trickle(port: int, opened, ended) -> None:
    """A stranger: declares a large body and sends a byte a second, again and again."""
    head = (
        "POST /hooks/mail HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "webhook-id: msg_1\r\nwebhook-timestamp: {}\r\nwebhook-signature: v1,{}\r\n"
        "Content-Length: 5000000\r\n\r\n"
    )
    # Strangers do not act in step: without this, all would send in the same millisecond.
    await asyncio.sleep(random.random())
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            opened.value += 1
            writer.write(head.format(int(time.time()), "A" * 43 + "=").encode())
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(1)
        except OSError:
            ended.value += 1
            await asyncio.sleep(0.5 + random.random())


def attack(port: int, opened, ended) -> None:
    """All strangers, in one process."""

    async def all_of_them() -> None:
        await asyncio.gather(*(trickle(port, opened, ended) for _ in range(STRANGERS)))

    asyncio.run(all_of_them())


async def main(server: Server) -> bool:
    await post_for(server.port, 2)
    figures = {"alone": [], "beside": []}
    everything = True
    # Rounds alternate, and the median of the rounds counts: one round may hit a moment in
    # which the machine itself stalls.
    for _ in range(ROUNDS):
        for name, posts in (
            ("alone", await post_for(server.port, SECONDS)),
            ("beside", await beside_strangers(server.port)),
        ):
            p99 = percentile([taken for taken, _ in posts], 0.99)
            good = sum(200 <= status < 300 for _, status in posts)
            print(f"{name:<7} {len(posts)} posts, {good} with 2xx, p99 {p99 * 1e3:.1f} ms", flush=True)
            figures[name].append(p99)
            everything &= good == len(posts)
    alone, beside = (statistics.median(figures[name]) for name in ("alone", "beside"))
    print(f"medians: {alone * 1e3:.1f} ms alone, {beside * 1e3:.1f} ms beside, {beside / alone:.2f} times")
    return everything and beside <= 2 * alone


async def beside_strangers(port: int) -> list[tuple[float, int]]:
    """The posts, while a thousand strangers trickle."""
    context = multiprocessing.get_context("spawn")
    opened, ended = (context.Value("q", 0, lock=False) for _ in range(2))
    strangers = context.Process(target=attack, args=(port, opened, ended), daemon=True)
    strangers.start()
    while opened.value < STRANGERS:
        await asyncio.sleep(0.1)
    posts = await post_for(port, SECONDS)
    strangers.kill()
    strangers.join()
    print(f"strangers: {opened.value} connections opened, {ended.value} ended")
    return posts


if __name__ == "__main__":
    target = Server(sys.argv[1])
    try:
        passed = asyncio.run(main(target))
    finally:
        target.stop()
    print("passed" if passed else f"failed; see {target.directory}/server.log")
    sys.exit(0 if passed else 1)
