"""A real NATS server for a test: its own port, its own directory, ended by its own pid."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import TracebackType

from config.stack import ports

# Not the seeded one: tests that run side by side would try the same ports.
_CHANCE = random.SystemRandom()
BINARY = Path(sys.executable).with_name("nats-server")
START_S = 60.0


def free_port() -> int:
    """A port that nobody listens on, that no test beside this one was just given, and that the
    kernel gives to no client meanwhile: it takes those from above 32,767."""
    return ports.choose(_CHANCE.randrange(20_000, 30_000), owner=uuid.uuid4().hex)


class NatsServer:
    """Started on entering; `kill` and `start` give it back on the same port with the same data."""

    def __init__(
        self, directory: Path, *, config: str | None = None, sync_always: bool = False
    ) -> None:
        """`config`: a whole configuration file with `{port}` and `{store}` to be filled in; None:
        nobody is asked for a name, JetStream is on."""
        self.directory = directory
        self.port = free_port()
        self._config = config
        self._sync = "always" if sync_always else '"2m"'
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> NatsServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers. Raises RuntimeError with its log."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "nats.conf"
        path.write_text(self._config_text())
        log = self.directory / "nats.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [BINARY, "-c", path], stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        until = time.monotonic() + START_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 0.2) as probe:
                    if probe.recv(4) == b"INFO":
                        return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"nats-server did not start: {log.read_text()[-2000:]}")

    def _config_text(self) -> str:
        store = json.dumps(str(self.directory / "store"))
        if self._config is not None:
            return self._config.replace("{port}", str(self.port)).replace("{store}", store)
        return (
            f"listen: 127.0.0.1:{self.port}\n"
            f"jetstream {{ store_dir: {store}, sync_interval: {self._sync} }}\n"
        )

    def kill(self) -> None:
        """As a power failure of the process: -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
