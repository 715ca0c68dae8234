"""Real NATS servers for tests: one process each, rendered as in production, killed at the end."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from agent.drivers.nats.consumer_requests import ConsumerRequests
from agent.drivers.nats.names import AGENT_INBOX
from agent.drivers.nats.server_config import (
    AGENT_USER,
    BrokerSecrets,
    ServerTLS,
    render,
)
from agent.drivers.nats.session import Session
from agent.tasks import Watched
from tests.nats_server import free_port

BINARY = Path(sys.executable).with_name("nats-server")


class Broker:
    """One nats-server; its port and store survive `kill` and `start`."""

    def __init__(
        self,
        name: str,
        directory: Path,
        secrets: BrokerSecrets,
        *,
        tls: ServerTLS | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.name = name
        self.secrets = secrets
        self.directory = directory
        self.port = free_port()
        self.url = f"{'tls' if tls else 'nats'}://{host}:{self.port}"
        self._host = host
        monitor_port = free_port()
        self.monitor_url = f"http://{host}:{monitor_port}"
        directory.mkdir(parents=True, exist_ok=True)
        self._config = directory / "server.conf"
        self._config.write_text(
            render(
                name=name,
                host=host,
                port=self.port,
                monitor_port=monitor_port,
                store_dir=directory / "store",
                secrets=secrets,
                tls=tls,
            )
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens. Raises RuntimeError with its log."""
        log = self.directory / "server.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [
                    str(BINARY if BINARY.exists() else shutil.which("nats-server")),
                    "-c",
                    self._config,
                ],
                stdout=out,
                stderr=out,
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection((self._host, self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(log.read_text())

    def kill(self) -> None:
        """End it with SIGKILL, as a power failure would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


@contextlib.asynccontextmanager
async def consumers_made(broker: Broker) -> AsyncIterator[None]:
    """What of an agent makes the consumers that classes request, where no agent runs."""
    login = f"//{AGENT_USER}:{broker.secrets.agent_password}@"
    session = Session(broker.url.replace("//", login), name="weir agent", inbox=AGENT_INBOX).start()
    connection = await session.connection()
    requests = ConsumerRequests(session)
    requests.start(Watched())
    await asyncio.sleep(0)  # they subscribe
    await connection.flush()
    try:
        yield
    finally:
        await requests.close()
        await session.close()
