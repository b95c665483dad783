"""What one delivery costs: processor time of each process, bytes of log and of disk."""

import os
import pathlib

from deployment import until

TICK = os.sysconf("SC_CLK_TCK")
WAITING = "SELECT count(*) FROM deliveries WHERE state IN ('pending', 'claimed')"


def processor_seconds(pid):
    """Of a process and of its children, those that have ended included."""
    total = own_seconds(pid)
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        if parent == pid:
            total += own_seconds(int(stat.parent.name))
    return total


def own_seconds(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    # Its own time, and the time of children that have ended.
    return sum(int(field) for field in fields[11:15]) / TICK


def measure(bench, mails=6_000, rate=300):
    """Mails at a steady rate through a webhook and a worker of their own."""
    deployment = bench.deploy(bench.binary, "cost")
    worker = deployment.add("worker")
    postgres = bench.servers.places["postgres"] / "data" / "postmaster.pid"
    broker = bench.servers.places["rabbitmq"] / "pid"
    pids = {
        "webhook": deployment.of("webhook")[0].child.pid,
        "worker": worker.child.pid,
        "postgres": int(postgres.read_text().split()[0]),
        "rabbitmq": int(broker.read_text().split()[0]),
    }
    written = lambda: int(bench.sql_in("cost", "SELECT pg_current_wal_lsn() - '0/0'"))  # noqa: E731
    stored = lambda: int(bench.sql_in("cost", "SELECT pg_database_size('cost')"))  # noqa: E731
    bench.sql_in("cost", "CHECKPOINT")
    before = {name: processor_seconds(pid) for name, pid in pids.items()}
    log, disk = written(), stored()
    mails = bench.count(mails)
    bench.post_ours(
        deployment, "--acks-only", "--connections", 32, "--rate", rate, "--mails", mails
    )
    until("the mails are processed", lambda: bench.sql_in("cost", WAITING) == "0")
    spent = {name: processor_seconds(pid) - before[name] for name, pid in pids.items()}
    result = {f"{name}_ms": 1000 * seconds / mails for name, seconds in spent.items()}
    result["log_bytes"] = (written() - log) / mails
    bench.sql_in("cost", "CHECKPOINT")
    result["disk_bytes"] = (stored() - disk) / mails
    bench.sql_in("cost", "UPDATE deliveries SET body = NULL, body_key = NULL")
    bench.sql_in("cost", "VACUUM FULL")
    result["disk_bytes_without_body"] = max(0, stored() - disk) / mails
    worker.kill()
    deployment.processes.remove(worker)
    return result
