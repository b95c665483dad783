"""The load, and what became of it."""

import asyncio
import json
import os
import resource
import secrets
import time

from deployment import Deployment, Servers, until
from provider import Provider

KEYS = 4
# How long after the last request the last mail may be handed over.
LONGEST_REST = 5.0
# What counts as sustained: the share of requests that began in their second.
SHARE_IN_TIME = 0.99


class Connections:
    """Connections to the feeds that are kept open and used again."""

    def __init__(self, ports):
        self.ports = ports
        self.idle = {port: [] for port in ports}

    async def post(self, port, token, body):
        while self.idle[port]:
            reader, writer = self.idle[port].pop()
            if not reader.at_eof():
                break
            writer.close()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            f"POST /v1/sends HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        lower = head.lower()
        length = int(lower.split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = await reader.readexactly(length)
        if b"connection: close" in lower:
            writer.close()
        else:
            self.idle[port].append((reader, writer))
        return status, answer


class Load:
    """All requests, and the answers to them."""

    def __init__(self, args, tokens, ports):
        self.args, self.tokens, self.ports = args, tokens, ports
        self.connections = Connections(ports)
        self.ids, self.asked, self.took, self.late = {}, {}, [], 0
        self.wrong = []

    async def copy(self, order, number):
        values = {"order": order, "state": ["paid", "sent"][number % 2]}
        body = {
            "sender": "shop",
            "intent": {"type": "order.shipped", "entity": order, "version": 1},
            "to": "user@example.com",
            "template": "shipped",
            "values": values,
        }
        body = json.dumps(body).encode()
        port, token = self.ports[number % len(self.ports)], self.tokens[number % KEYS]
        began = time.monotonic()
        for _ in range(20):
            try:
                status, answer = await self.connections.post(port, token, body)
            except (OSError, asyncio.IncompleteReadError):
                continue
            if status not in (408, 503):
                break
            # The server is behind; the same request is sent again.
            await asyncio.sleep(0.05)
        else:
            self.wrong.append(f"{order}: no answer")
            return
        self.took.append(time.monotonic() - began)
        try:
            answer = json.loads(answer)
            named = answer["id"], answer["state"]
        except (ValueError, KeyError):
            self.wrong.append(f"{order}: {status} {answer}")
            return
        if status not in (200, 201, 409):
            self.wrong.append(f"{order}: {status} {named}")
            return
        self.ids.setdefault(order, []).append((status, answer["id"]))

    async def intent(self, order):
        self.asked[order] = time.time()
        await asyncio.gather(*(self.copy(order, number) for number in range(self.args.copies)))

    async def run(self):
        """An intent is asked for when it is due, however long the others take."""
        began, tasks = time.monotonic(), []
        for number in range(self.args.rate * self.args.seconds):
            due = began + number / self.args.rate
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            elif wait < -1:
                self.late += 1
            tasks.append(asyncio.create_task(self.intent(f"o{number}")))
        await asyncio.gather(*tasks)
        return time.monotonic() - began


def configure(deployment, provider, tokens):
    lines = [
        "send.per_day = 100000000",
        'templates.shipped.subject = "Order {{order}}"',
        'templates.shipped.text = "Order {{order}} is {{state}}."',
        'templates.shipped.values.order.type = "id"',
        'templates.shipped.values.state = { type = "choice", choices = ["paid", "sent"] }',
        f'senders.shop = {{ provider = "resend", api_url = "http://127.0.0.1:{provider.port}", '
        'api_key = "key", from = "Shop <shop@mail.example.com>", recipients = ["@example.com"] }',
    ]
    for number, token in enumerate(tokens):
        lines.append(f'key.mailer-{number} = {{ token = "{token}", inboxes = [], scopes = ["send"] }}')
    with open(deployment.config, "a") as config:
        config.write("\n".join(lines) + "\n")


def measure(args):
    """The figures, and what was missed."""
    provider = Provider()
    servers = Servers() if args.full else None
    urls = [servers.urls["postgres"], servers.urls["rabbitmq"]] if servers else []
    deployment = Deployment(os.path.abspath(args.binary), *urls)
    tokens = ["mlk_" + secrets.token_hex(20) for _ in range(KEYS)]
    configure(deployment, provider, tokens)
    roles = ["feed", "worker"] if args.full else ["up"]
    processes = [deployment.add(role) for role in roles]
    load = Load(args, tokens, [processes[0].port])
    lasted = asyncio.run(load.run())
    asked_until = time.time()
    intents = args.rate * args.seconds
    try:
        until("every mail", lambda: len(provider.received()) >= intents, limit=60)
    except RuntimeError:
        pass
    open_sends = count_open(deployment)
    received = provider.received()
    cpu = {process.role: cpu_seconds(process) for process in processes}
    figures, missed = report(args, load, received, (lasted, asked_until))
    figures["CPU seconds"] = ", ".join(f"{role} {spent:.0f}" for role, spent in cpu.items())
    usage = resource.getrusage(resource.RUSAGE_SELF)
    figures["CPU seconds of the load"] = round(usage.ru_utime + usage.ru_stime)
    if open_sends:
        missed.append(f"not sent in the end: {open_sends}")
    provider.end()
    return figures, missed


def count_open(deployment):
    """The states that are not `sent`, with their numbers."""
    def count():
        states = ["ready", "claimed", "dispatched", "uncertain", "failed"]
        counts = {}
        for state in states:
            listed = deployment.run("sends", "list", "--state", state, "--limit", "1000", "--json")
            counts[state] = len(json.loads(listed)["items"])
        return {state: number for state, number in counts.items() if number}

    # The last answers of the provider are still being recorded.
    try:
        until("every result", lambda: not count(), limit=30)
    except RuntimeError:
        pass
    return count()


def cpu_seconds(process):
    fields = open(f"/proc/{process.child.pid}/stat").read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(values, part):
    ordered = sorted(values) or [0.0]
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def report(args, load, received, times):
    lasted, asked_until = times
    intents = args.rate * args.seconds
    first = sorted(at[0] for at in received.values())
    twice = sum(1 for at in received.values() if len(at) > 1)
    rest = max(0.0, (first[-1] if first else 0.0) - asked_until)
    handed = []
    # Mails have no order in their key, so delays are compared in their sorted order.
    for asked, got in zip(sorted(load.asked.values()), first):
        handed.append(got - asked)
    milliseconds = lambda value: f"{1000 * value:.1f} ms"  # noqa: E731
    span = first[-1] - first[0] if len(first) > 1 else 1.0
    figures = {
        "profile": "full" if args.full else "embedded",
        "intents": intents,
        "requests": intents * args.copies,
        "asked for a second": round(intents / lasted, 1),
        "handed over a second": round(len(first) / span, 1),
        "handed over": len(first),
        "handed over twice": twice,
        "answer, median": milliseconds(share(load.took, 0.5)),
        "answer, 99 %": milliseconds(share(load.took, 0.99)),
        "until handed over, median": milliseconds(share(handed, 0.5)),
        "until handed over, 99 %": milliseconds(share(handed, 0.99)),
        "rest after the last request": milliseconds(rest),
    }
    missed = [f"wrong answer: {one}" for one in load.wrong[:5]]
    if len(first) != intents:
        missed.append(f"{intents - len(first)} of {intents} intents were not handed over")
    if twice:
        missed.append(f"{twice} intents were handed over twice")
    if load.late > (1 - SHARE_IN_TIME) * intents:
        missed.append(f"{load.late} intents were asked for more than a second late")
    if rest > LONGEST_REST:
        missed.append(f"the last mail was handed over {rest:.1f} s after the last request")
    for order, answers in load.ids.items():
        if len({one for _, one in answers}) != 1 or len(answers) != args.copies:
            missed.append(f"{order}: {answers}")
        if sum(1 for status, _ in answers if status == 201) != 1:
            missed.append(f"{order} was not created once: {answers}")
    return figures, missed[:20]
