"""The measurements: each is one function that returns figures of one round."""

import base64
import json
import os
import pathlib
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "outage"))
from deployment import RUNNING, Deployment, Servers, until  # noqa: E402

SETTINGS = 'log.filter = "error"\nfeed.max_waits = 1000\n'


class Peer:
    """A peer's process; it prints its address when it is ready."""

    def __init__(self, command, cwd=None):
        self.child = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True)
        self.url = f"http://{self.child.stdout.readline().strip()}"
        RUNNING.append(self)

    def end(self):
        if self.child.poll() is None:
            self.child.terminate()
            self.child.wait()


class Counter:
    """Asks a database for one number, over one connection: a new psql for each question
    would take half a core from what is measured."""

    def __init__(self, url, question):
        self.question = question
        command = ["psql", "-XAtq", url]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        RUNNING.append(self)

    def __call__(self):
        self.child.stdin.write(self.question + ";\n")
        return int(self.child.stdout.readline())

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


class Bench:
    """Private servers, our processes and the peers, all on this machine."""

    def __init__(self, binary, peers, old=None, express=True, scale=1.0):
        self.binary, self.peers, self.scale = binary, peers, scale
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="maillatch-bench-"))
        RUNNING.append(self)
        self.servers = Servers()
        self.amqp = self.servers.urls["rabbitmq"]
        self.ours = self.deploy(binary, "ours")
        self.old = self.deploy(old, "old") if old else None
        self.plain_secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        self.plain = self.peer("plain", "webhook")
        self.external = self.peer("external", "webhook", "external")
        self.express = self.express_peer() if express else None

    def end(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def database(self, name):
        self.servers.sql(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def url_of(self, name):
        return self.servers.urls["postgres"].rsplit("/", 1)[0] + f"/{name}"

    def sql_in(self, name, statement):
        command = ["psql", "-XAtq", self.url_of(name), "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def deploy(self, binary, name):
        deployment = Deployment(binary, self.database(name), self.amqp + "")
        with open(deployment.config, "a") as config:
            config.write(SETTINGS)
            # Two deployments share one broker.
            config.write(f'queue.name = "{name}"\n')
        deployment.add("webhook")
        deployment.name = name
        return deployment

    def peer(self, name, role, *more):
        url = self.database(name)
        peer = Peer([self.peers, role, url, self.amqp, self.plain_secret, *more])
        peer.database = url
        return peer

    def express_peer(self):
        folder = self.dir / "express"
        shutil.copytree(HERE / "peers" / "express", folder)
        subprocess.run(["npm", "install", "--silent", "--no-fund"], cwd=folder, check=True)
        url = self.database("express")
        return Peer(["node", "server.js", url, self.amqp, self.plain_secret], cwd=folder)

    # --- load -------------------------------------------------------------------

    def post(self, url, secret, *args, feed=None, key=""):
        """Runs `maillatch bench` and returns its figures."""
        command = [self.binary, "bench", "--json", "--url", url, *map(str, args)]
        if feed:
            command += ["--feed-url", feed]
        environment = {**os.environ, "MAILLATCH_SIGNING_SECRET": secret, "MAILLATCH_KEY": key}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if not done.stdout:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    def post_ours(self, deployment, *args, feed=None):
        secret = "whsec_" + base64.b64encode(deployment.secret).decode()
        role = deployment.of("webhook")[0]
        return self.post(role.url, secret, *args, feed=feed, key=deployment.key)

    def post_plain(self, peer, *args):
        return self.post(peer.url, self.plain_secret, *args)

    def count(self, number):
        return max(50, int(number * self.scale))

    # --- measurements --------------------------------------------------------------

    def intake(self, connections, mails, copies=1):
        """Acknowledgements a second and their times, for everybody who runs."""
        args = ["--acks-only", "--connections", connections, "--mails", self.count(mails)]
        args += ["--copies", copies]
        results = {"ours": self.post_ours(self.ours, *args)}
        if self.old:
            results["old"] = self.post_ours(self.old, *args)
        results["plain"] = self.post_plain(self.plain, *args)
        results["external"] = self.post_plain(self.external, *args)
        if self.express:
            results["express"] = self.post_plain(self.express, *args)
        for name, result in results.items():
            if result["refused"]:
                raise RuntimeError(f"{name} refused: {result['refused']}")
        return results

    def bare(self, connections, rows):
        """Rows a second, and the median time of a commit in milliseconds."""
        url = self.servers.urls["postgres"]
        text = self.peer_output("inserts", url, connections, rows, 2)
        rate, micros = text.split()
        return float(rate), float(micros) / 1000

    def bare_sqlite(self):
        file = self.dir / f"bare-{secrets.token_hex(4)}.db"
        rate = float(self.peer_output("sqlite", file, 64, 2))
        for left in self.dir.glob(file.name + "*"):
            left.unlink()
        return rate

    def extractor(self):
        return float(self.peer_output("extractor", self.plain.database))

    def peer_output(self, *args):
        command = [self.peers, *map(str, args)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def drain(self, deployment, workers=1):
        """Mails a second that workers turn into artifacts, from a backlog."""
        waiting = "SELECT count(*) FROM deliveries WHERE state IN ('pending', 'claimed')"
        rate = self.drained(
            deployment.name, waiting, lambda: [deployment.add("worker") for _ in range(workers)]
        )
        deployment.processes = [one for one in deployment.processes if one.role != "worker"]
        return rate

    def drain_tutorial(self):
        """The same for the tutorial's worker, on the backlog of the plain webhook."""
        def start():
            command = [self.peers, "worker", self.plain.database, self.amqp]
            child = subprocess.Popen(command)
            return [type("Worker", (), {"kill": lambda _: (child.kill(), child.wait())})()]
        return self.drained("plain", "SELECT count(*) FROM mails WHERE state <> 'done'", start)

    def drained(self, database, waiting, start):
        ask = Counter(self.url_of(database), waiting)
        before = ask()
        workers = start()
        # The start of the processes is not measured: the clock starts at the first mail.
        until("the first mail is processed", lambda: ask() < before)
        began, first = time.monotonic(), ask()
        until("the backlog is drained", lambda: ask() == 0, limit=600)
        rate = first / (time.monotonic() - began)
        ask.end()
        for worker in workers:
            worker.kill()
        return rate

    def latency(self):
        """From the answer to a post until its code can be consumed, full profile."""
        worker, feed = self.ours.add("worker"), self.ours.add("feed")
        try:
            # The next mail is posted when the code of the one before is consumable.
            args = ["--connections", 1, "--in-flight", 1, "--mails", self.count(1_000)]
            alone = self.post_ours(self.ours, *args, feed=feed.url)
            # A machine that rests between mails has to wake up for each step.
            args = ["--connections", 1, "--rate", 20, "--mails", self.count(300)]
            idle = self.post_ours(self.ours, *args, feed=feed.url)
            args = ["--connections", 64, "--rate", 1000, "--mails", self.count(10_000)]
            busy = self.post_ours(self.ours, *args, feed=feed.url)
        finally:
            for process in (worker, feed):
                process.kill()
                self.ours.processes.remove(process)
        return {"alone": alone, "idle": idle, "busy": busy}

    def embedded(self):
        """Mails a second that one process on SQLite accepts and processes."""
        deployment = Deployment(self.binary)
        with open(deployment.config, "a") as config:
            config.write(SETTINGS)
        process = deployment.add("up")
        mails = self.count(8_000)
        acks = self.post_ours(deployment, "--acks-only", "--connections", 128, "--mails", mails)
        # Signing comes before the first post, so the posts' own time is taken.
        posted = time.monotonic()
        database = next(pathlib.Path(deployment.dir).rglob("*.db"))
        reader = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        waiting = "SELECT count(*) FROM deliveries WHERE state IN ('pending', 'claimed')"
        until("the backlog is drained", lambda: reader.execute(waiting).fetchone()[0] == 0)
        seconds = acks["seconds"] + time.monotonic() - posted
        reader.close()
        process.kill()
        return {"acks": acks, "together": mails / seconds}

    def memory(self):
        """The webhook's memory in MiB: now, and at its highest."""
        process = self.ours.of("webhook")[0]
        text = pathlib.Path(f"/proc/{process.child.pid}/status").read_text()
        read = lambda name: int(text.split(name + ":")[1].split()[0]) / 1024  # noqa: E731
        return {"now": read("VmRSS"), "peak": read("VmHWM")}
