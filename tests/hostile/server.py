"""A server under attack: the embedded profile in a directory of its own."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

KEY = "mlk_" + "k" * 40
SECRET = os.urandom(32)

CONFIG = """
[server]
listen = "127.0.0.1:0"
[sender]
dns = ["127.0.0.1:{dns}"]
[feed]
reads_per_minute = 1000000
consumes_per_minute = 1000000
[source.mail]
provider = "standard-webhooks"
secrets = ["whsec_{secret}"]
[key.agent]
token = "{key}"
inboxes = ["*"]
"""


class Server:
    """Starts a binary, and says what it needed when it ended."""

    def __init__(self, binary: str, dns: int = 9) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="maillatch-hostile."))
        secret = base64.b64encode(SECRET).decode()
        config = self.directory / "maillatch.toml"
        config.write_text(CONFIG.format(dns=dns, secret=secret, key=KEY))
        self.log = open(self.directory / "server.log", "wb")
        command = [os.path.abspath(binary), "up", "--config", str(config)]
        self.process = subprocess.Popen(
            command, cwd=self.directory, stdout=subprocess.PIPE, stderr=self.log
        )
        self.port = self._port()

    def _port(self) -> int:
        end = time.time() + 60
        while time.time() < end:
            for connection in Path("/proc/net/tcp").read_text().splitlines()[1:]:
                fields = connection.split()
                if fields[3] == "0A" and fields[9] in self._sockets():
                    return int(fields[1].split(":")[1], 16)
            time.sleep(0.2)
        raise SystemExit(f"the server did not start; see {self.directory}/server.log")

    def _sockets(self) -> set[str]:
        names = set()
        for descriptor in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                target = os.readlink(descriptor)
            except OSError:
                continue
            if target.startswith("socket:["):
                names.add(target[8:-1])
        return names

    def status(self, field: str) -> int:
        """A number of /proc/PID/status, such as VmHWM in KiB or Threads."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise SystemExit(f"the server has ended; see {self.directory}/server.log")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


class Connection:
    """One HTTP/1.1 connection that is kept open."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams = None

    async def send(self, method: str, path: str, body: bytes, headers: dict[str, str]):
        """The status and the body of the answer. The server closes idle connections, so a
        request that meets the end of one is sent again on another."""
        try:
            return await self._send(method, path, body, headers)
        except (OSError, IndexError, asyncio.IncompleteReadError):
            self.streams = None
            return await self._send(method, path, body, headers)

    async def _send(self, method: str, path: str, body: bytes, headers: dict[str, str]):
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        status = int((await reader.readline()).split()[1])
        length, closes = 0, False
        while (line := await reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
            closes |= name.lower() == "connection" and value.strip() == "close"
        answer = await reader.readexactly(length)
        if closes:
            writer.close()
            self.streams = None
        return status, answer


def signed_post(recipient: str, raw: bytes) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a post by Standard Webhooks."""
    data = {"recipients": [recipient], "raw": base64.b64encode(raw).decode()}
    body = json.dumps({"type": "email.received", "data": data}).encode()
    identity, at = f"msg_{uuid.uuid4().hex}", str(int(time.time()))
    mac = hmac.new(SECRET, f"{identity}.{at}.".encode() + body, hashlib.sha256).digest()
    headers = {
        "Content-Type": "application/json",
        "webhook-id": identity,
        "webhook-timestamp": at,
        "webhook-signature": "v1," + base64.b64encode(mac).decode(),
    }
    return body, headers


def ordinary_mail(number: int) -> bytes:
    """A mail with a code of its own."""
    return (
        f"From: Example <no-reply@example.com>\r\nTo: ordinary@inbox.test\r\n"
        f"Message-ID: <{uuid.uuid4()}@example.com>\r\nSubject: Your verification code\r\n\r\n"
        f"Your verification code is {100_000 + number}.\r\n"
    ).encode()


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
