"""For tests: a private server, and signed mail as a provider would post it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import uuid
from email.message import EmailMessage
from email.utils import formatdate
from pathlib import Path
from types import TracebackType
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ._client import Maillatch
from .errors import MaillatchError

#: How long a server may take until it is ready.
START_SECONDS = 60.0


class Server:
    """A Maillatch server of its own, on a free port, with a private data directory.

    ``binary`` defaults to the variable ``MAILLATCH_BIN``, then to ``maillatch`` on the
    path. The server ends with the context.
    """

    def __init__(self, binary: str | None = None) -> None:
        found = binary or os.environ.get("MAILLATCH_BIN") or shutil.which("maillatch")
        if not found:
            raise MaillatchError(
                "there is no maillatch binary. Install it, or set MAILLATCH_BIN to its path"
            )
        self._binary = found
        self._directory = Path(tempfile.mkdtemp(prefix="maillatch-"))
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        #: Where the server serves its metrics, and what is wrong with it.
        self.ops_url = ""
        self.key = ""
        self._secret = ""

    def start(self) -> Server:
        """Starts the server, or starts it again with the same data and the same port."""
        listen = self.url.removeprefix("http://") or "127.0.0.1:0"
        with open(self._directory / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                [self._binary, "up", "--json", "--listen", listen, "--data-dir", self.data],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={
                    **{k: v for k, v in os.environ.items() if not k.startswith("MAILLATCH_")},
                    "MAILLATCH_SERVER__OPS_LISTEN": "127.0.0.1:0",
                },
            )
        self.ops_url = self._wait_until_ready()["ops_url"]
        values = _variables(Path(self.data) / "dev.env")
        self.url = values["MAILLATCH_URL"]
        self.key = values["MAILLATCH_KEY"]
        self._secret = values["MAILLATCH_SIGNING_SECRET"]
        return self

    @property
    def data(self) -> str:
        return str(self._directory / "data")

    def _wait_until_ready(self) -> dict[str, str]:
        process = self._process
        assert process is not None and process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        line = process.stdout.readline() if ready else ""
        if not line:
            process.kill()
            process.wait()
            log = (self._directory / "server.log").read_text(errors="replace")[-2000:]
            raise MaillatchError(f"the server did not start:\n{log}")
        said: dict[str, str] = json.loads(line)
        return said

    def kill(self) -> None:
        """Ends the process at once, as a crash would. ``start`` brings it back."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ends the server and removes its data."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def client(self) -> Maillatch:
        """A client of this server."""
        return Maillatch(self.url, self.key)

    def post_mail(
        self,
        to: str,
        text: str,
        *,
        html: str | None = None,
        subject: str = "Your account",
        sender: str = "Example <no-reply@example.com>",
    ) -> None:
        """Posts a mail as a provider does: signed by Standard Webhooks."""
        post_mail(self.url, self._secret, _mail(to, text, html, subject, sender), to)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def post_mail(url: str, secret: str, raw: bytes, to: str, source: str = "dev") -> None:
    """Posts one raw mail to ``/hooks/{source}``, signed with its secret (``whsec_…``)."""
    body = json.dumps(
        {
            "type": "email.received",
            "data": {"recipients": [to], "raw": base64.b64encode(raw).decode()},
        }
    ).encode()
    message_id, timestamp = f"msg_{uuid.uuid4().hex}", str(int(time.time()))
    signed = f"{message_id}.{timestamp}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature}",
    }
    request = Request(f"{url}/hooks/{source}", data=body, headers=headers, method="POST")
    try:
        with urlopen(request, timeout=15):
            pass
    except HTTPError as error:
        raise MaillatchError(f"the server refused the mail with status {error.code}") from error


def _mail(to: str, text: str, html: str | None, subject: str, sender: str) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, to, subject
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{uuid.uuid4()}@example.com>"
    mail.set_content(text)
    if html is not None:
        mail.add_alternative(html, subtype="html")
    return mail.as_bytes()


def _variables(path: Path) -> dict[str, str]:
    lines = (line.strip() for line in path.read_text().splitlines())
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name: value.strip("'\"") for name, _, value in pairs}
