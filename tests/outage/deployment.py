"""Private servers, and Maillatch processes on them."""

import atexit
import base64
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

# What a scenario has started; it ends with this program in every case.
RUNNING = []
SERVICES = pathlib.Path(__file__).resolve().parent.parent / "services"


class Servers:
    """A PostgreSQL and a RabbitMQ that may be killed."""

    def __init__(self, data=None):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="maillatch-outage-"))
        self.dir.chmod(0o755)
        self.places = {"postgres": data or self.dir / "postgres", "rabbitmq": self.dir / "rabbitmq"}
        RUNNING.append(self)
        self.urls = {kind: self.do("start", kind) for kind in self.places}

    def do(self, act, kind, *args):
        command = [str(SERVICES), act, kind, str(self.places[kind]), *args]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def sql(self, statement):
        """Runs a statement and returns the first value, as text."""
        command = ["psql", "-XAtq", self.urls["postgres"], "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def end(self):
        for kind in self.places:
            # A kill is quick; a stop also ends what a kill leaves, such as epmd.
            for act in ["kill", "stop"]:
                subprocess.run([str(SERVICES), act, kind, str(self.places[kind])], capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)


class Process:
    """One process of Maillatch, on a port of its own that it keeps."""

    def __init__(self, binary, role, config, logs, name):
        self.binary, self.role, self.config = binary, role, config
        self.log = logs / f"{name}.log"
        self.port = 0
        self.start()

    def start(self):
        command = [self.binary, self.role, "--json", "--listen", f"127.0.0.1:{self.port}"]
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                [*command, "--config", str(self.config)], stdout=subprocess.PIPE, stderr=log
            )
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.role} did not start: {self.log.read_text()[-2000:]}")
        self.port = int(json.loads(line)["url"].rstrip("/").rsplit(":", 1)[1])

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ready(self):
        """The status of /readyz."""
        try:
            return urllib.request.urlopen(f"{self.url}/readyz", timeout=10).status
        except urllib.error.HTTPError as error:
            return error.code

    def log_lines(self):
        with open(self.log, "rb") as log:
            return sum(1 for _ in log)

    def stop(self):
        """Stops it with SIGTERM; returns the exit code."""
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(timeout=60)

    def kill(self):
        self.child.kill()
        self.child.wait()


class Deployment:
    """Processes with one configuration."""

    def __init__(self, binary, database_url="", amqp_url="", data=None):
        self.binary = binary
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="maillatch-outage-"))
        self.secret = secrets.token_bytes(32)
        self.key = "mlk_" + secrets.token_hex(20)
        self.config = self.dir / "maillatch.toml"
        self.processes = []
        seal = f'seal.file = "{self.dir}/seal.keys"\n' if database_url else ""
        (self.dir / "seal.keys").write_bytes(base64.b64encode(secrets.token_bytes(32)))
        (self.dir / "seal.keys").chmod(0o600)
        RUNNING.append(self)
        self.config.write_text(
            f'server.secret = "{secrets.token_hex(24)}"\n'
            f'data.dir = "{data or self.dir / "data"}"\n{seal}'
            f'database.url = "{database_url}"\nqueue.url = "{amqp_url}"\n'
            'source.dev.provider = "standard-webhooks"\n'
            f'source.dev.secrets = ["whsec_{base64.b64encode(self.secret).decode()}"]\n'
            f'key.agent = {{ token = "{self.key}", inboxes = ["*"] }}\n'
            "feed.reads_per_minute = 1000000\nfeed.consumes_per_minute = 1000000\n"
            "feed.attempts_per_minute = 1000000\n"
        )
        if database_url:
            self.run("migrate")

    def run(self, *args, binary=None):
        command = [binary or self.binary, *args, "--config", str(self.config)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def add(self, role, binary=None):
        name = f"{role}-{len(self.processes)}"
        process = Process(binary or self.binary, role, self.config, self.dir, name)
        self.processes.append(process)
        return process

    def full(self, binary=None):
        """Two processes of each role."""
        for role in ["webhook", "worker", "feed"] * 2:
            self.add(role, binary)
        return self

    def of(self, role):
        return [process for process in self.processes if process.role in (role, "up")]

    def end(self):
        for process in self.processes:
            if process.child.poll() is None:
                process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


@atexit.register
def end_all():
    for one in reversed(RUNNING):
        one.end()


def until(what, ask, limit=120):
    """Asks until the answer is true; returns how long that took."""
    began = time.monotonic()
    while not ask():
        if time.monotonic() - began > limit:
            raise RuntimeError(f"waited {limit} s for: {what}")
        time.sleep(0.1)
    return time.monotonic() - began


def is_root():
    return os.geteuid() == 0
