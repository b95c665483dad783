"""Signed posts at a steady rate, and what became of them."""

import base64
import hashlib
import hmac
import http.client
import json
import select
import threading
import time
import uuid


# The server closes a connection that is idle for 5 seconds; a client does so earlier.
IDLE = 3


def mail(number, inbox):
    """The body of a post with a mail that holds a code."""
    raw = (
        f"From: Shop <no-reply@example.com>\r\nTo: {inbox}\r\n"
        f"Message-ID: <{number}-{uuid.uuid4().hex}@example.com>\r\n"
        "Subject: Your verification code\r\n\r\n"
        f"Your verification code is {100000 + number % 900000}.\r\n"
    )
    data = {"recipients": [inbox], "raw": base64.b64encode(raw.encode()).decode()}
    return json.dumps({"type": "email.received", "data": data}).encode()


def is_closed(connection):
    """Whether the server has closed a connection on which it owes nothing."""
    return bool(select.select([connection.sock], [], [], 0)[0])


class Answer:
    """What a client saw of one request."""

    def __init__(self, began, took, status, closes, cut):
        self.began, self.took, self.status = began, took, status
        # Whether the server said that it closes the connection.
        self.closes = closes
        # Whether the request was sent on an open connection and got no answer.
        self.cut = cut


class Client(threading.Thread):
    """Sends its share of the requests over one connection that it keeps."""

    def __init__(self, load, share):
        super().__init__(daemon=True)
        self.load, self.share = load, share
        self.connections = {}
        self.answers = []

    def run(self):
        period = self.load.clients / self.load.rate
        due = time.monotonic() + period * self.share / self.load.clients
        while not self.load.stopping.is_set():
            time.sleep(max(0, due - time.monotonic()))
            due = max(due + period, time.monotonic() - 1)
            self.answers.append(self.request())

    def request(self):
        method, path, headers, body, port = self.load.next_request()
        began = time.time()
        tick = time.monotonic()
        sent = False
        try:
            connection = self.connections.get(port)
            # A client does not use a connection that the server has closed while idle.
            if connection and (tick - connection.used > IDLE or is_closed(connection)):
                self.connections.pop(port).close()
                connection = None
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                connection.connect()
                self.connections[port] = connection
            connection.used = tick
            connection.request(method, path, body, headers)
            sent = True
            answer = connection.getresponse()
            answer.read()
            closes = answer.will_close
            if closes:
                self.connections.pop(port).close()
            return Answer(began, time.monotonic() - tick, answer.status, closes, False)
        except (OSError, http.client.HTTPException):
            was_open = self.connections.pop(port, None)
            if was_open:
                was_open.close()
            return Answer(began, time.monotonic() - tick, 0, False, sent)


class Load:
    """Requests at `rate` a second, spread over the processes of a role."""

    def __init__(self, deployment, rate, role="webhook", clients=16, inbox="agent@inbox.test"):
        self.deployment, self.rate, self.role, self.inbox = deployment, rate, role, inbox
        self.clients = clients
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.number = 0
        self.threads = [Client(self, share) for share in range(clients)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        return self

    @property
    def answers(self):
        return [answer for thread in self.threads for answer in thread.answers]

    def next_request(self):
        with self.lock:
            self.number += 1
            number = self.number
        processes = self.deployment.of(self.role)
        port = processes[number % len(processes)].port
        if self.role in ("webhook", "up"):
            return ("POST", "/hooks/dev", *self.signed(number), port)
        headers = {"Authorization": f"Bearer {self.deployment.key}"}
        if self.role == "feed":
            return "GET", f"/v1/inboxes/{self.inbox}/artifacts", headers, None, port
        return "GET", "/readyz", {}, None, port

    def signed(self, number):
        body, at, name = mail(number, self.inbox), str(int(time.time())), f"msg_{uuid.uuid4().hex}"
        text = f"{name}.{at}.".encode() + body
        mac = hmac.new(self.deployment.secret, text, hashlib.sha256).digest()
        headers = {
            "Content-Type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": at,
            "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
        }
        return headers, body


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0
