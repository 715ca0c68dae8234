"""Manage a state directory: where one stack keeps its data, logs, sockets, ports and secrets."""

import fcntl
import hashlib
import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.stack.errors import StackError
from config.stack.proc import Identity, carries, identify

ROOT = Path(__file__).resolve().parents[2]
SOCKET_PATH_MAX = 98  # the kernel's limit is 107; supervisord appends its own number while binding
TAG_STACK = "WEIR_STACK_ID"
TAG_PART = "WEIR_STACK_PART"
# `clients` is the fleet's: of its publishers and consumers.
SECRET_NAMES = ("postgres", "valkey", "spark", "web", "clients")


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in `path`; empty when there is none or it was cut off by a crash."""
    try:
        value = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def write_private(path: Path, text: str) -> None:
    """Replace `path` in one move, readable by its owner only."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    Path(name).replace(path)


def write_json(path: Path, value: object) -> None:
    write_private(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


@dataclass(kw_only=True)
class Site:
    """Describe one state directory and its settings."""

    state_dir: Path
    ports: dict[str, int] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    external: set[str] = field(default_factory=set)
    """The parts that the user's own servers replace."""

    @classmethod
    def open(cls, state_dir: Path | str) -> "Site":
        site = cls(state_dir=Path(os.path.abspath(state_dir)))
        settled = read_json(site.settings_file)
        site.ports = {name: int(port) for name, port in settled.get("ports", {}).items()}
        site.secrets = dict(settled.get("secrets", {}))
        site.external = set(settled.get("external", ()))
        site.environment = dict(read_json(site.environment_file))
        return site

    @property
    def id(self) -> str:
        """Return the mark that every process of this stack has in its environment."""
        return hashlib.sha256(os.path.realpath(self.state_dir).encode()).hexdigest()[:16]

    @property
    def tag(self) -> str:
        return f"{TAG_STACK}={self.id}"

    @property
    def run_dir(self) -> Path:
        return self.state_dir / "run"

    @property
    def log_dir(self) -> Path:
        return self.state_dir / "log"

    @property
    def data_dir(self) -> Path:
        return self.state_dir / "data"

    @property
    def settings_file(self) -> Path:
        return self.state_dir / "settings.json"

    @property
    def environment_file(self) -> Path:
        return self.run_dir / "environment.json"

    @property
    def supervisor_pid_file(self) -> Path:
        return self.run_dir / "supervisord.pid"

    @property
    def socket_dir(self) -> Path:
        """Return the run directory, or a short one of ours when a socket's path would be too
        long."""
        if len(os.fsencode(self.run_dir / "supervisor.sock")) <= SOCKET_PATH_MAX:
            return self.run_dir
        return Path(tempfile.gettempdir()) / f"weir-{os.getuid()}-{self.id}"

    @property
    def supervisor_socket(self) -> Path:
        return self.socket_dir / "supervisor.sock"

    def log_file(self, part: str) -> Path:
        return self.log_dir / f"{part}.log"

    def record_file(self, part: str) -> Path:
        return self.run_dir / f"{part}.json"

    def record(self, part: str) -> dict[str, Any]:
        """Return what the part's launcher last wrote about it."""
        return read_json(self.record_file(part))

    def process(self, part: str, role: str = "process") -> Identity | None:
        """Return the part's real process (or its `launcher`) if it lives."""
        stored = self.record(part).get(role)
        if not stored:
            return None
        identity = Identity(int(stored[0]), int(stored[1]))
        return identity if identity.alive() else None

    def supervisor(self) -> Identity | None:
        """Return the supervisor of this stack if it lives."""
        try:
            pid = int(self.supervisor_pid_file.read_text())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return identify(pid) if carries(pid, [self.tag]) else None

    def make(self) -> None:
        """Create the directories and the secrets that are missing."""
        for directory in (self.state_dir, self.run_dir, self.log_dir, self.data_dir):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.socket_dir != self.run_dir:
            self.socket_dir.mkdir(mode=0o700, exist_ok=True)
            if self.socket_dir.stat().st_uid != os.getuid():
                raise StackError(
                    f"{self.socket_dir} belongs to someone else: remove it, or use a state "
                    "directory with a shorter path"
                )
        for name in SECRET_NAMES:
            self.secrets.setdefault(name, secrets.token_urlsafe(24))

    def save(self) -> None:
        settings = {
            "ports": self.ports,
            "secrets": self.secrets,
            "external": sorted(self.external),
        }
        write_json(self.settings_file, settings)
        write_json(self.environment_file, self.environment)

    @contextmanager
    def lock(self, say: Callable[[str], None], seconds: float = 300.0) -> Iterator[None]:
        """Let one `up` or `down` work at a time."""
        self.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.run_dir / "lock").open("a+") as stream:
            deadline = time.monotonic() + seconds
            printed = False
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    stream.seek(0)
                    holder = stream.read().strip() or "?"
                    if not printed:
                        say(f"process {holder} is working on this stack; waiting for it")
                        printed = True
                    if time.monotonic() > deadline:
                        raise StackError(
                            f"process {holder} has held {stream.name} for {seconds:.0f} s: "
                            "end it, then try again"
                        ) from None
                    time.sleep(0.1)
            stream.seek(0)
            stream.truncate()
            stream.write(f"{os.getpid()}\n")
            stream.flush()
            try:
                yield
            finally:
                with suppress(OSError):
                    stream.truncate(0)
