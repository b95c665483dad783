"""Medians of the rounds, the table, the page and its charts."""

import datetime
import os
import pathlib
import platform
import statistics

# Each row: its name, the figure, its unit, the bar, and whether more is better.
ROWS = [
    ("worker drain against the tutorial worker with our extractor", "drain / drain_tutorial", 1.5),
    ("worker drain against our extractor alone on one core", "drain / extractor", 0.6),
    ("two workers against one", "drain_two / drain", 1.2),
    ("embedded: intake and processing together against bare SQLite inserts",
     "together / bare_sqlite", 0.15),
    ("acks at 128 connections against plain actix", "acks / acks_plain", 3.5),
    ("acks at 128 connections against Express", "acks / acks_express", 5.0),
    ("acks at 128 connections against bare multi-row inserts", "acks / bare", 0.65),
    ("each delivery five times, against plain actix on our storage", "storm / storm_external", 3.0),
    ("1 connection, p50 against a bare insert", "single_p50 / bare_p50", -3.0),
]
# Ratios of a grown database to a new one, and their bars.
GROWTH = [
    ("intake", "intake at {rows:,} deliveries against an empty table", 0.9),
    ("drain", "worker drain at {rows:,} deliveries against an empty table", 0.9),
    ("intake_purging", "the same intake, with a worker that deletes old rows", 0.75),
    ("drain_purging", "the same drain, with a worker that deletes old rows", 0.75),
]
COST = [
    ("webhook_ms", "processor time of the webhook, ms"),
    ("worker_ms", "processor time of the worker, ms"),
    ("postgres_ms", "processor time of PostgreSQL, ms"),
    ("rabbitmq_ms", "processor time of RabbitMQ, ms"),
    ("log_bytes", "write-ahead log, bytes"),
    ("disk_bytes", "disk while the body is kept, bytes"),
    ("disk_bytes_without_body", "disk after the body is deleted, bytes"),
]
FIGURES = [
    ("acks", "acks a second, 128 connections: ours"),
    ("acks_old", "acks a second, 128 connections: the other binary"),
    ("acks_plain", "acks a second, 128 connections: plain actix"),
    ("acks_external", "acks a second, 128 connections: plain actix on our storage"),
    ("acks_express", "acks a second, 128 connections: Express, two processes"),
    ("bare", "rows a second: bare inserts, 2 connections × 64 rows"),
    ("storm", "acks a second, each delivery five times: ours"),
    ("storm_external", "acks a second, each delivery five times: plain actix on our storage"),
    ("single_p50", "p50 of an ack at 1 connection, ms: ours"),
    ("bare_p50", "p50 of a bare insert, ms"),
    ("drain", "mails a second: one worker"),
    ("drain_two", "mails a second: two workers"),
    ("drain_old", "mails a second: one worker of the other binary"),
    ("drain_tutorial", "mails a second: the tutorial worker with our extractor"),
    ("extractor", "mails a second: our extractor alone, one core"),
    ("together", "mails a second: embedded, accepted and processed"),
    ("bare_sqlite", "rows a second: bare SQLite inserts, 64 a commit"),
    ("alone_p50", "ack to consumable, one at a time: p50, ms"),
    ("alone_p99", "ack to consumable, one at a time: p99, ms"),
    ("idle_p50", "ack to consumable, 20 mails a second: p50, ms"),
    ("idle_p99", "ack to consumable, 20 mails a second: p99, ms"),
    ("busy_p50", "ack to consumable at 1,000 mails a second: p50, ms"),
    ("busy_p99", "ack to consumable at 1,000 mails a second: p99, ms"),
]


def of_round(one):
    """The plain figures of one round."""
    acks = lambda kind, who: one[kind].get(who, {}).get("acks_per_second")  # noqa: E731
    latency = lambda when: one["latency"][when]["consumable"]["after_ack_ms"]  # noqa: E731
    figures = {
        "acks": acks("intake", "ours"),
        "acks_old": acks("intake", "old"),
        "acks_plain": acks("intake", "plain"),
        "acks_external": acks("intake", "external"),
        "acks_express": acks("intake", "express"),
        "storm": acks("storm", "ours"),
        "storm_external": acks("storm", "external"),
        "single_p50": one["single"]["ours"]["ack_ms"]["p50"],
        "bare": one["bare"][0],
        "bare_p50": one["bare_single"][1],
        "together": one["embedded"]["together"],
        "alone_p50": latency("alone")["p50"],
        "alone_p99": latency("alone")["p99"],
        "idle_p50": latency("idle")["p50"],
        "idle_p99": latency("idle")["p99"],
        "busy_p50": latency("busy")["p50"],
        "busy_p99": latency("busy")["p99"],
    }
    for name in ["drain", "drain_two", "drain_old", "drain_tutorial", "extractor", "bare_sqlite"]:
        figures[name] = one.get(name)
    for _, ratio, _ in ROWS:
        above, below = (figures.get(name) for name in ratio.split(" / "))
        figures[ratio] = above / below if above and below else None
    return {name: value for name, value in figures.items() if value is not None}


def summarise(rounds, memory, machine):
    """Median, lowest and highest of each figure. A ratio is taken inside its round."""
    rounds = [of_round(one) for one in rounds]
    spread = {}
    for name in rounds[0]:
        values = [one[name] for one in rounds if name in one]
        spread[name] = {
            "median": statistics.median(values), "lowest": min(values), "highest": max(values)
        }
    return {"figures": spread, "memory": memory, "machine": machine, "rounds": len(rounds)}


def machine(servers):
    cpu = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
           if line.startswith("model name")]
    return {
        "cores": os.cpu_count(),
        "processor": cpu[0].split(": ")[1] if cpu else platform.machine(),
        "system": platform.platform(),
        "postgres": servers.sql("SHOW server_version"),
        "fsync": servers.sql("SHOW fsync"),
        "date": datetime.date.today().isoformat(),
    }


def table(report):
    figures = report["figures"]
    lines = ["| ratio | median | spread | bar | |", "|---|---|---|---|---|"]
    for name, ratio, bar in ROWS:
        if ratio not in figures:
            continue
        lines.append(line(name, figures[ratio], bar))
    grown = report.get("growth", {})
    lines += [line(name.format(**grown), grown[key], bar) for key, name, bar in GROWTH if grown]
    lines += ["", "| figure | median | spread |", "|---|---|---|"]
    for name, words in FIGURES:
        if name in figures:
            one = figures[name]
            low, high, middle = (number(one[key]) for key in ("lowest", "highest", "median"))
            lines.append(f"| {words} | {middle} | {low} to {high} |")
    memory = report["memory"]
    lines.append(f"| webhook memory, idle, MiB | {memory['idle']:.0f} | |")
    lines.append(f"| webhook memory, peak, MiB | {memory['peak']:.0f} | |")
    return "\n".join(lines)


def line(name, one, bar):
    is_met = one["median"] <= -bar if bar < 0 else one["median"] >= bar
    wanted = f"≤ {-bar}" if bar < 0 else f"≥ {bar}"
    return (
        f"| {name} | {one['median']:.2f} | {one['lowest']:.2f} to {one['highest']:.2f} "
        f"| {wanted} | {'met' if is_met else 'short'} |"
    )


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def write(report, folder):
    """The page and its charts."""
    facts = report["machine"]
    figures = report["figures"]
    charts = {
        "acks.svg": ("Acknowledgements a second, 128 connections",
                     ["acks", "acks_plain", "acks_external", "acks_express", "bare"]),
        "drain.svg": ("Mails a second that a worker processes",
                      ["drain", "drain_two", "drain_old", "drain_tutorial", "extractor"]),
    }
    page = [
        "# Measured side by side",
        "",
        "Written by `tests/bench/run`. Everything shares the cores of one machine, so only",
        "ratios inside one run count. Bodies have 8 KB, mails 6 KB with a text and an HTML part.",
        "",
        f"{facts['date']}, {facts['cores']} cores ({facts['processor']}), PostgreSQL "
        f"{facts['postgres']}, fsync {facts['fsync']}, medians of {report['rounds']} rounds.",
        "",
        table(report),
        "",
    ]
    if "cost" in report:
        page += ["One delivery costs, at 300 mails a second:", "", "| | |", "|---|---|"]
        page += [f"| {words} | {number(report['cost'][name])} |" for name, words in COST]
        page += [""]
    for file, (title, names) in charts.items():
        bars = [(dict(FIGURES)[name], figures[name]["median"]) for name in names if name in figures]
        (folder / file).write_text(chart(title, bars))
        page += [f"![{title}]({file})", ""]
    (folder / "REPORT.md").write_text("\n".join(page))


def chart(title, bars):
    """Horizontal bars as SVG."""
    most = max(value for _, value in bars)
    height = 40 + 34 * len(bars)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="10" y="22" font-size="15" fill="#222222">{title}</text>',
    ]
    for index, (words, value) in enumerate(bars):
        top, width = 36 + 34 * index, 1 + 560 * value / most
        words = words.split(": ")[-1]
        parts.append(f'<text x="10" y="{top + 10}" fill="#444444">{words}</text>')
        parts.append(
            f'<rect x="10" y="{top + 14}" width="{width:.0f}" height="12" '
            f'fill="{"#2a6fdb" if index == 0 else "#9fb4cc"}"/>'
        )
        parts.append(f'<text x="{width + 16:.0f}" y="{top + 24}" fill="#222222">{number(value)}</text>')
    return "\n".join([*parts, "</svg>", ""])
