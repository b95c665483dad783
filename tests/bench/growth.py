"""What age costs: a new database beside one with millions of rows, in alternating rounds."""

import statistics
import subprocess

# Processed ten to twenty days ago; bodies and values are long deleted, the rest is kept.
FILL = """
    INSERT INTO inboxes (inbox, last_seq)
    SELECT 'grown-' || n || '@inbox.test', 1000 FROM generate_series(0, 999) AS n;

    CREATE UNLOGGED TABLE old AS
    SELECT n, moment,
           (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0')
            || '7' || substr(md5('id' || n), 1, 3) || '8' || substr(md5('id' || n), 4, 15))::uuid
               AS id,
           decode(md5('key' || n), 'hex') AS key
    FROM generate_series(1, {rows}) AS n,
         LATERAL (SELECT now() - interval '20 days' + n * interval '10 days' / {rows} AS moment) AS m;

    INSERT INTO deliveries (id, source, delivery_key, content_digest, content_type, state,
                            attempts, recorded_at, finished_at)
    SELECT id, 'dev', key, key || key, 'application/json', 'done', 1, moment, moment FROM old;

    INSERT INTO messages (id, delivery_id, inbox, message_key, sender_domain, flags, received_at)
    SELECT id, id, 'grown-' || n % 1000 || '@inbox.test', key, 'example.com', '', moment
    FROM old WHERE n <= 1000000;

    INSERT INTO artifacts (id, message_id, inbox, seq, artifact_key, kind, verdict, rule,
                           confidence, expires_at, wiped_at)
    SELECT id, id, 'grown-' || n % 1000 || '@inbox.test', (n - 1) / 1000 + 1, key, 'code',
           'usable', 'label', 99, moment, moment
    FROM old WHERE n <= 1000000;

    INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
    SELECT id, 'agent', id::text, moment, 'artifact' FROM old WHERE n <= 1000000;

    INSERT INTO attempts (id, owner, request, inbox, wanted, senders, opened_at, deadline, resends)
    SELECT id, 'agent', key, 'grown-' || n % 1000 || '@inbox.test', 'code', '', now(),
           now() + interval '1 day', 3
    FROM old WHERE n <= 10000;

    DROP TABLE old;
    VACUUM ANALYZE;
    CHECKPOINT;
"""
# Every old row is due, and workers look for such rows all the time.
PURGE = 'retention.items = "8d"\nretention.consumes = "8d"\nretention.every = "1s"\n'


class Growth:
    """Two deployments on one server: a new one, and one that has grown."""

    def __init__(self, bench, rows):
        self.bench, self.rows = bench, rows
        self.young = bench.deploy(bench.binary, "young")
        self.grown = bench.deploy(bench.binary, "grown")
        command = ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", bench.url_of("grown")]
        subprocess.run(command, input=FILL.format(rows=rows), text=True, check=True)

    def left(self):
        return int(self.bench.sql_in("grown", "SELECT count(*) FROM deliveries"))

    def round(self):
        """Acknowledgements and processed mails a second, of both."""
        figures = {}
        for deployment in (self.young, self.grown):
            args = ["--acks-only", "--connections", 128, "--mails", self.bench.count(8_000)]
            posted = self.bench.post_ours(deployment, *args)
            figures[deployment.name, "acks"] = posted["acks_per_second"]
            figures[deployment.name, "drain"] = self.bench.drain(deployment)
        return figures

    def purging_round(self):
        """The same while a worker of each processes mail and, in the grown one, deletes
        rows."""
        figures = {}
        for deployment in (self.young, self.grown):
            worker = deployment.add("worker")
            args = ["--acks-only", "--connections", 128, "--mails", self.bench.count(8_000)]
            posted = self.bench.post_ours(deployment, *args)
            figures[deployment.name, "acks"] = posted["acks_per_second"]
            worker.kill()
            deployment.processes.remove(worker)
            figures[deployment.name, "drain"] = self.bench.drain(deployment)
        return figures


def measure(bench, rows, rounds, say):
    """Ratios of the grown deployment to the new one."""
    say(f"a database with {rows:,} deliveries is made")
    growth = Growth(bench, rows)
    plain, purging = [], []
    for number in range(rounds):
        say(f"growth, round {number + 1}/{rounds}")
        plain.append(growth.round())
    for deployment in (growth.young, growth.grown):
        with open(deployment.config, "a") as config:
            config.write(PURGE)
    before = growth.left()
    for number in range(rounds):
        say(f"growth with deletion, round {number + 1}/{rounds}")
        purging.append(growth.purging_round())
    deleted = before + 2 * rounds * bench.count(8_000) - growth.left()
    return {
        "rows": rows,
        "deleted": max(0, deleted),
        "intake": ratio(plain, "acks"),
        "drain": ratio(plain, "drain"),
        "intake_purging": ratio(purging, "acks"),
        "drain_purging": ratio(purging, "drain"),
    }


def ratio(rounds, what):
    values = [one["grown", what] / one["young", what] for one in rounds]
    return {"median": statistics.median(values), "lowest": min(values), "highest": max(values)}
