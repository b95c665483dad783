"""A thousand connections that trickle a body beside 100 signed posts a second.

Passes if every signed post is answered 2xx and 99 % of them take at most twice as long as
without these connections.
"""

import asyncio
import sys
import time

from server import Connection, Server, ordinary_mail, percentile, signed_post

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
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


async def trickle(port: int, counts: dict[str, int]) -> None:
    """A stranger: declares a large body and sends a byte a second, again and again."""
    head = (
        "POST /hooks/mail HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "webhook-id: msg_1\r\nwebhook-timestamp: {}\r\nwebhook-signature: v1,{}\r\n"
        "Content-Length: 5000000\r\n\r\n"
    )
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            counts["opened"] += 1
            writer.write(head.format(int(time.time()), "A" * 43 + "=").encode())
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(1)
        except OSError:
            counts["ended"] += 1
            await asyncio.sleep(0.5)


async def main(server: Server) -> bool:
    await post_for(server.port, 2)
    alone = await post_for(server.port, SECONDS)
    counts = {"opened": 0, "ended": 0}
    strangers = [asyncio.create_task(trickle(server.port, counts)) for _ in range(STRANGERS)]
    await asyncio.sleep(2)
    beside = await post_for(server.port, SECONDS)
    for stranger in strangers:
        stranger.cancel()
    figures = {}
    for name, posts in (("alone", alone), ("beside", beside)):
        figures[name] = percentile([taken for taken, _ in posts], 0.99)
        good = sum(200 <= status < 300 for _, status in posts)
        print(f"{name:<7} {len(posts)} posts, {good} with 2xx, p99 {figures[name] * 1e3:.1f} ms")
    print(f"strangers: {counts['opened']} connections opened, {counts['ended']} ended")
    everything = all(200 <= status < 300 for _, status in alone + beside)
    return everything and figures["beside"] <= 2 * figures["alone"]


if __name__ == "__main__":
    target = Server(sys.argv[1])
    try:
        passed = asyncio.run(main(target))
    finally:
        target.stop()
    print("passed" if passed else f"failed; see {target.directory}/server.log")
    sys.exit(0 if passed else 1)
