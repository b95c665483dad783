"""A TCP proxy to a database that delays every answer."""

import socket
import threading
import time
import urllib.parse


class SlowWire:
    """Listens on loopback; `delay` is how many seconds each answer takes."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.server = (parts.hostname, parts.port)
        self.delay = 0.0
        self.listener = socket.create_server(("127.0.0.1", 0))
        port = self.listener.getsockname()[1]
        user = f"{parts.username}@" if parts.username else ""
        self.url = parts._replace(netloc=f"{user}127.0.0.1:{port}").geturl()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.server)
            for pair in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.carry, args=pair, daemon=True).start()

    def carry(self, source, target, is_answer):
        try:
            while data := source.recv(65536):
                if is_answer and self.delay:
                    time.sleep(self.delay)
                target.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, target):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def end(self):
        self.listener.close()
