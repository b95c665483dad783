"""The scenarios. Each returns its figures and the limits that it missed."""

import pathlib
import subprocess
import tempfile
import time
from collections import Counter

from deployment import RUNNING, Deployment, Servers, is_root, until
from load import Load, quantile
from slow_wire import SlowWire

UNFINISHED = "SELECT count(*) FROM deliveries WHERE state IN ('pending', 'claimed')"
DEAD_LETTERS = "SELECT count(*) FROM deliveries WHERE state = 'buried'"
# From the row's commit to the commit that makes its code consumable.
PROCESSING = (
    "SELECT coalesce(percentile_cont({share}) WITHIN GROUP "
    "(ORDER BY extract(epoch FROM finished_at - recorded_at)), 0) FROM deliveries "
    "WHERE state = 'done' AND recorded_at BETWEEN to_timestamp({begin}) AND to_timestamp({end})"
)
TABLES = (
    "SELECT string_agg(tablename, ' ') FROM pg_tables "
    "WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations'"
)


class Limits:
    """Figures, and which of them are not as they must be."""

    def __init__(self):
        self.figures, self.missed = {}, []

    def note(self, name, value, is_right=True):
        self.figures[name] = value
        if not is_right:
            self.missed.append(f"{name} is {value}")

    def result(self):
        return {"figures": self.figures, "missed": self.missed}


def note_posts(limits, load):
    answers = load.answers
    refused = [answer for answer in answers if not 200 <= answer.status < 300]
    limits.note("posts", len(answers), bool(answers))
    limits.note("not 2xx", len(refused), not refused)
    for status, count in sorted(Counter(answer.status for answer in refused).items()):
        limits.note(f"status {status or 'none'}", count)
    limits.note("post p99 ms", round(1000 * quantile([a.took for a in answers], 0.99)))


def note_processing(limits, servers, begin, end, limit):
    for share, name in ((0.5, "consumable p50 s"), (0.99, "consumable p99 s")):
        value = float(servers.sql(PROCESSING.format(share=share, begin=begin, end=end)))
        limits.note(name, round(value, 2), share < 0.9 or value <= limit)


def note_all_done(limits, servers, posts, within):
    took = until("everything is processed", lambda: servers.sql(UNFINISHED) == "0", 600)
    limits.note("drained after s", round(took, 1), took <= within)
    dead = int(servers.sql(DEAD_LETTERS))
    limits.note("dead letters", dead, dead == 0)
    rows = int(servers.sql("SELECT count(*) FROM artifacts"))
    limits.note("artifacts", rows, rows == posts)


def accepted(load):
    return sum(1 for answer in load.answers if 200 <= answer.status < 300)


def broker(args):
    """RabbitMQ is killed under 50 posts a second, and comes back."""
    outage = 30 if args.quick else 300
    servers, limits = Servers(), Limits()
    deployment = Deployment(args.binary, servers.urls["postgres"], servers.urls["rabbitmq"]).full()
    load = Load(deployment, 50).start()
    time.sleep(5)
    servers.do("kill", "rabbitmq")
    begin = time.time()
    not_ready = 0
    while time.time() < begin + outage:
        not_ready += sum(1 for process in deployment.of("webhook") if process.ready() != 200)
        time.sleep(2)
    end = time.time()
    servers.do("start", "rabbitmq")
    time.sleep(10)
    load.stop()
    note_posts(limits, load)
    note_processing(limits, servers, begin, end, 3.0)
    limits.note("webhook not ready", not_ready, not_ready == 0)
    note_all_done(limits, servers, accepted(load), 30)
    deployment.end()
    servers.end()
    return limits.result()


def absent(args):
    """Every process starts while there is no broker."""
    servers, limits = Servers(), Limits()
    servers.do("kill", "rabbitmq")
    deployment = Deployment(args.binary, servers.urls["postgres"], servers.urls["rabbitmq"]).full()
    begin = time.time()
    load = Load(deployment, 50).start()
    time.sleep(15 if args.quick else 60)
    load.stop()
    note_posts(limits, load)
    note_processing(limits, servers, begin, time.time(), 3.0)
    note_all_done(limits, servers, accepted(load), 30)
    deployment.end()
    servers.end()
    return limits.result()


def locks(args):
    """Each table is locked, as VACUUM FULL or ALTER TABLE does.

    Each has a database and a process of its own, so that all outages take place at once.
    """
    outage = 5 if args.quick else 600
    servers, limits = Servers(), Limits()
    Deployment(args.binary, servers.urls["postgres"], servers.urls["rabbitmq"]).end()
    tables = servers.sql(TABLES).split()
    locked = [Locked(args.binary, servers, table) for table in tables]
    time.sleep(3)
    for one in locked:
        one.lock(outage)
    for one in locked:
        one.locking.wait()
    time.sleep(3)
    limits.note("tables", len(tables))
    limits.note("seconds each", outage)
    for one in locked:
        one.load.stop()
    limits.note("posts", sum(len(one.load.answers) for one in locked))
    limits.note("posts 2xx", sum(accepted(one.load) for one in locked))
    longest = max(until(one.table, lambda: one.sql(UNFINISHED) == "0", 600) for one in locked)
    limits.note("drained after s", round(longest, 1), longest <= 60)
    dead = sum(int(one.sql(DEAD_LETTERS)) for one in locked)
    limits.note("dead letters", dead, dead == 0)
    short = [one.table for one in locked if one.artifacts() < accepted(one.load)]
    limits.note("tables with mail missing", len(short), not short)
    for one in locked:
        one.deployment.end()
    servers.end()
    return limits.result()


class Locked:
    """A process with all roles under 2 posts a second, and the table that is locked."""

    def __init__(self, binary, servers, table):
        self.table = table
        name = f"locked_{table}"
        servers.sql(f"CREATE DATABASE {name}")
        self.url = servers.urls["postgres"].rsplit("/", 1)[0] + f"/{name}"
        self.deployment = Deployment(binary, self.url, servers.urls["rabbitmq"])
        with open(self.deployment.config, "a") as config:
            config.write(f'queue.name = "{name}"\n')
        self.deployment.add("up")
        self.load = Load(self.deployment, 2, clients=8).start()

    def lock(self, seconds):
        statement = (
            f"BEGIN; LOCK TABLE {self.table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({seconds})"
        )
        self.locking = subprocess.Popen(
            ["psql", "-XAtq", self.url, "-c", statement], stdout=subprocess.DEVNULL
        )

    def sql(self, statement):
        command = ["psql", "-XAtq", self.url, "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def artifacts(self):
        return int(self.sql("SELECT count(*) FROM artifacts"))


def note_all_done_at_least(limits, servers, posts):
    """A refused post may have been recorded, because its commit was only late."""
    took = until("everything is processed", lambda: servers.sql(UNFINISHED) == "0", 600)
    limits.note("drained after s", round(took, 1), took <= 60)
    dead = int(servers.sql(DEAD_LETTERS))
    limits.note("dead letters", dead, dead == 0)
    rows = int(servers.sql("SELECT count(*) FROM artifacts"))
    limits.note("artifacts", rows, rows >= posts)


def slow(args):
    """Every answer of the database takes 900 ms."""
    servers, limits = Servers(), Limits()
    wire = SlowWire(servers.urls["postgres"])
    deployment = Deployment(args.binary, wire.url, servers.urls["rabbitmq"]).full()
    wire.delay = 0.9
    load = Load(deployment, 2, clients=16).start()
    time.sleep(20 if args.quick else 120)
    load.stop()
    limits.note("posts", len(load.answers))
    limits.note("posts 2xx", accepted(load))
    wire.delay = 0
    note_all_done_at_least(limits, servers, accepted(load))
    deployment.end()
    wire.end()
    servers.end()
    return limits.result()


class SmallDisk:
    """A file system that can be filled."""

    def __init__(self, megabytes):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="maillatch-disk-"))
        options = f"size={megabytes}m,mode=0777"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.path], check=True)
        RUNNING.append(self)

    def fill(self):
        with open(self.path / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"\0" * 4096)
            except OSError:
                pass

    def free(self):
        (self.path / "filler").unlink()

    def end(self):
        if self.path.exists():
            subprocess.run(["umount", "-l", self.path], check=False)
            self.path.rmdir()


def disk(args):
    """The disk is full, then it is not: posts are refused, then accepted again."""
    limits = Limits()
    if not is_root():
        limits.note("skipped", "mounting a file system needs root", False)
        return limits.result()
    outage = 5 if args.quick else 30
    for profile, megabytes in (("embedded", 32), ("full", 256)):
        small = SmallDisk(megabytes)
        servers = Servers(small.path / "postgres") if profile == "full" else None
        if servers:
            deployment = Deployment(args.binary, *servers.urls.values()).full()
        else:
            deployment = Deployment(args.binary, data=small.path / "data")
            deployment.add("up")
        load = Load(deployment, 20).start()
        time.sleep(3)
        small.fill()
        time.sleep(outage)
        freed = time.time()
        small.free()
        time.sleep(10)
        load.stop()
        after = [a.began - freed for a in load.answers if a.status == 200 and a.began > freed]
        refused = sum(1 for answer in load.answers if answer.status == 503)
        limits.note(f"{profile} posts 503", refused, refused > 0)
        limits.note(f"{profile} 2xx again after s", round(min(after, default=99), 1), min(after, default=99) <= 5)
        if servers:
            until("everything is processed", lambda: servers.sql(UNFINISHED) == "0")
            rows = int(servers.sql("SELECT count(*) FROM artifacts"))
            limits.note("full artifacts", rows, rows >= accepted(load))
        limits.note(f"{profile} 2xx", accepted(load))
        deployment.end()
        if servers:
            servers.end()
        small.end()
    return limits.result()


def sigterm(args):
    """Each role is stopped again and again: no request in progress is cut."""
    stops = 3 if args.quick else 20
    servers, limits = Servers(), Limits()
    for role in ("webhook", "feed", "worker"):
        deployment = Deployment(args.binary, *servers.urls.values()).full()
        load = Load(deployment, 500, role=role, clients=32).start()
        codes = []
        for stop in range(stops):
            time.sleep(1)
            process = deployment.of(role)[stop % 2]
            codes.append(process.stop())
            process.start()
        time.sleep(1)
        load.stop()
        answers = load.answers
        rate = len(answers) / (max(a.began for a in answers) - min(a.began for a in answers))
        cut = sum(1 for answer in answers if answer.cut)
        failed = sum(1 for a in answers if a.status and a.status not in (200, 503))
        limits.note(f"{role} requests/s", round(rate))
        limits.note(f"{role} refused", sum(1 for a in answers if a.status == 0 and not a.cut))
        limits.note(f"{role} 503", sum(1 for a in answers if a.status == 503))
        limits.note(f"{role} cut", cut, cut == 0)
        limits.note(f"{role} failed", failed, failed == 0)
        limits.note(f"{role} unclean exits", sum(1 for code in codes if code), not any(codes))
        deployment.end()
    servers.end()
    return limits.result()


def logs(args):
    """Database and broker are killed together; each process logs little."""
    outage = 20 if args.quick else 300
    servers, limits = Servers(), Limits()
    deployment = Deployment(args.binary, *servers.urls.values()).full()
    load = Load(deployment, 50).start()
    time.sleep(3)
    before = {process.log: process.log_lines() for process in deployment.processes}
    servers.do("kill", "rabbitmq")
    servers.do("kill", "postgres")
    time.sleep(outage)
    for process in deployment.processes:
        rate = (process.log_lines() - before[process.log]) / outage
        limits.note(f"{process.log.stem} lines/s", round(rate, 2), rate <= 10)
    servers.do("start", "postgres")
    servers.do("start", "rabbitmq")
    until("posts are accepted", lambda: load.answers[-1].status == 200)
    load.stop()
    note_all_done_at_least(limits, servers, accepted(load))
    deployment.end()
    servers.end()
    return limits.result()


def upgrade(args):
    """Old and new processes side by side, a migration under load, and the way back."""
    servers, limits = Servers(), Limits()
    deployment = Deployment(args.previous, *servers.urls.values()).full()
    load = Load(deployment, 100, clients=32).start()
    time.sleep(5)
    deployment.run("migrate", binary=args.binary)
    time.sleep(5)
    deployment.full(args.binary)
    time.sleep(15 if args.quick else 60)
    # The way back: every new process becomes an old one.
    for process in deployment.processes[6:]:
        process.binary = args.previous
        if process.role == "webhook":
            continue
        limits.note(f"{process.log.stem} exit", process.stop(), True)
        process.start()
    time.sleep(10)
    load.stop()
    note_posts(limits, load)
    note_all_done(limits, servers, accepted(load), 30)
    deployment.end()
    servers.end()
    return limits.result()


ALL = {
    "broker": broker,
    "absent": absent,
    "locks": locks,
    "slow": slow,
    "disk": disk,
    "sigterm": sigterm,
    "logs": logs,
    "upgrade": upgrade,
}
