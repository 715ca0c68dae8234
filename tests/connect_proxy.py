"""A proxy on a socket of this machine that connects by CONNECT, and notes what it was asked for."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from apps.common.outgoing.proxy import Proxy

CREDENTIAL = ("weir", "proxy:pass wörd")


@dataclass
class ConnectProxy:
    """What came, and what is answered."""

    requests: list[str] = field(default_factory=list)
    """What it was asked to connect to."""
    heads: list[str] = field(default_factory=list)
    """Each request as it came."""
    names: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Where its own look-up of a target leads; any other is dialled as it is named."""
    answer: bytes = b""
    """What it answers instead of connecting."""
    silent: bool = False
    """It takes requests and answers nothing."""
    port: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def settings(self, **values: object) -> Proxy:
        """Return the settings of this proxy, with its user and password."""
        user, password = CREDENTIAL
        given = {"host": "127.0.0.1", "port": self.port, "user": user, "password": password}
        return Proxy(**{**given, **values})  # type: ignore[arg-type]

    def serve(self, client: socket.socket) -> None:
        """Carry one request out."""
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        self.heads.append(head.decode())
        target = self.heads[-1].split()[1]
        self.requests.append(target)
        if self.silent:
            self.stopped.wait(60)
            return
        if self.answer:
            client.sendall(self.answer)
            return
        host, _, port = target.rpartition(":")
        where = self.names.get(target, (host.strip("[]"), int(port)))
        try:
            server = socket.create_connection(where, 5)
        except OSError:
            client.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            return
        with server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=[server, client])
            back.start()
            _pass_on(client, server)
            back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def proxying() -> Iterator[ConnectProxy]:
    """A proxy on a port of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = ConnectProxy(port=listener.getsockname()[1])
    threads: list[threading.Thread] = []

    def one(accepted: socket.socket) -> None:
        with accepted, suppress(OSError):
            proxy.serve(accepted)

    def accept() -> None:
        while True:
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=one, args=[accepted]))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield proxy
    finally:
        proxy.stopped.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for thread in threads:
            thread.join()
