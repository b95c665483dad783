"""A provider that speaks Resend's contract and remembers when it got which key."""

import asyncio
import json
import multiprocessing
import time


class Provider:
    """The provider, in a process of its own."""

    def __init__(self):
        self.asking, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        self.port = self.asking.recv()

    def received(self):
        """The times at which each key arrived."""
        self.asking.send("received")
        return self.asking.recv()

    def end(self):
        self.process.terminate()
        self.process.join()


def serve(questions):
    asyncio.run(answer_all(questions))


async def answer_all(questions):
    received = {}

    async def answer(reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            await reader.readexactly(int(headers["content-length"]))
            key = headers["idempotency-key"]
            received.setdefault(key, []).append(time.time())
            body = json.dumps({"id": f"re-{len(received)}"}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(body), body)
            )
            await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    questions.send(server.sockets[0].getsockname()[1])
    loop = asyncio.get_running_loop()
    loop.add_reader(questions.fileno(), lambda: (questions.recv(), questions.send(received)))
    await server.serve_forever()
