"""Configure, start and stop the supervisor process, and talk to it."""

import http.client
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from supervisor.xmlrpc import Faults

from config.stack import proc
from config.stack.errors import StackError
from config.stack.parts.base import Part
from config.stack.site import ROOT, TAG_PART, TAG_STACK, Site, write_private

START_S = 15.0
LAUNCHER_EXTRA_S = 6.0  # on top of the part's own time to stop
LOG_BYTES = 10_000_000
LOG_BACKUPS = 3


def _value(text: object) -> str:
    """Return a value for the configuration file, in which % has a meaning."""
    return str(text).replace("%", "%%")


def configuration(site: Site, parts: Iterable[Part]) -> str:
    lines = [
        "[unix_http_server]",
        f"file={_value(site.supervisor_socket)}",
        "chmod=0700",
        "[supervisord]",
        f"logfile={_value(site.log_file('supervisord'))}",
        f"logfile_maxbytes={LOG_BYTES}",
        f"logfile_backups={LOG_BACKUPS}",
        f"pidfile={_value(site.supervisor_pid_file)}",
        f"childlogdir={_value(site.log_dir)}",
        "nodaemon=false",
        "umask=077",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
    ]
    for part in parts:
        command = [sys.executable, "-m", "config.stack.launch", str(site.state_dir), part.name]
        lines += [
            f"[program:{part.name}]",
            f"command={_value(shlex.join(command))}",
            f"directory={_value(ROOT)}",
            f'environment={TAG_PART}="{part.name}"',
            "autostart=false",
            "autorestart=true",
            # The launcher slows down a part that keeps failing; here every end is restarted.
            "startsecs=0",
            "stopsignal=TERM",
            f"stopwaitsecs={part.stop_s + LAUNCHER_EXTRA_S:.0f}",
            "killasgroup=true",
            "redirect_stderr=true",
            # Relative to the state directory: supervisord expands this value twice, so that no
            # spelling of a path with % in it would survive.
            f"stdout_logfile={site.log_file(part.name).relative_to(site.state_dir)}",
            f"stdout_logfile_maxbytes={LOG_BYTES}",
            f"stdout_logfile_backups={LOG_BACKUPS}",
        ]
    return "\n".join(lines) + "\n"


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60.0)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.fspath(self._path))


class _Transport(xmlrpc.client.Transport):
    """Send XML-RPC over the supervisor's Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: object) -> http.client.HTTPConnection:
        # Kept where the base class looks for it, so that closing the proxy closes the socket.
        connection = _Connection(self._path)
        self._connection = (str(host), connection)
        return connection


class Supervisor:
    """Control the supervisor of one state directory, running or not."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def _call(self, method: str, *arguments: object) -> Any:
        try:
            with xmlrpc.client.ServerProxy(
                "http://localhost", transport=_Transport(self.site.supervisor_socket)
            ) as proxy:
                return getattr(proxy.supervisor, method)(*arguments)
        except (OSError, http.client.HTTPException) as error:
            raise StackError(
                f"the supervisor does not answer ({error}); see {self.site.log_file('supervisord')}"
            ) from error

    def alive(self) -> bool:
        return self.site.supervisor() is not None

    def start(self, parts: Iterable[Part]) -> None:
        """Start the supervisor with all parts known and none started."""
        path = self._configure(parts)
        self.site.supervisor_socket.unlink(missing_ok=True)
        log = self.site.log_file("supervisord")
        with log.open("a") as stream:
            # It leaves our process tree by itself, so that it outlives us.
            subprocess.run(
                [sys.executable, "-m", "supervisor.supervisord", "-c", str(path)],
                cwd=self.site.state_dir,
                env={**os.environ, TAG_STACK: self.site.id},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                timeout=START_S,
                check=False,
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self._answers():
                return
            time.sleep(0.05)
        self.end()
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise StackError(f"the supervisor did not start; {log} ends with:\n{tail}")

    def _configure(self, parts: Iterable[Part]) -> Path:
        path = self.site.run_dir / "supervisord.conf"
        write_private(path, configuration(self.site, parts))
        return path

    def learn(self, parts: Iterable[Part]) -> None:
        """Add new parts to a supervisor that an older version of Weir started."""
        parts = list(parts)
        known = self.states()
        new = [part.name for part in parts if part.name not in known]
        if new:
            self._configure(parts)
            self._call("reloadConfig")
            for name in new:
                self._call("addProcessGroup", name)

    def _answers(self) -> bool:
        if not self.alive() or not self.site.supervisor_socket.exists():
            return False
        try:
            self._call("getState")
        except StackError:
            return False
        return True

    def states(self) -> dict[str, str]:
        """Return the supervisor's word for each part; empty when it does not run."""
        if not self.alive():
            return {}
        rows = cast("list[dict[str, Any]]", self._call("getAllProcessInfo"))
        return {row["name"]: row["statename"] for row in rows}

    def start_part(self, name: str) -> None:
        try:
            self._call("startProcess", name, False)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != Faults.ALREADY_STARTED:
                raise StackError(f"{name}: {fault.faultString}") from fault

    def stop_parts(self, parts: Iterable[Part]) -> None:
        """Stop the parts together and wait until they are gone."""
        waiting = {part.name: part for part in parts}
        longest_s = max((part.stop_s for part in waiting.values()), default=0.0)
        deadline = time.monotonic() + longest_s + 2 * LAUNCHER_EXTRA_S
        asked: set[str] = set()
        while waiting and time.monotonic() < deadline:
            states = self.states()
            for name in list(waiting):
                state = states.get(name, "STOPPED")
                if state in ("STOPPED", "FATAL"):
                    del waiting[name]
                # One that has just ended by itself is not stopped: it is about to be started again.
                running = state in ("RUNNING", "STARTING", "BACKOFF")
                if running and name not in asked and self._stop_part(name):
                    asked.add(name)
            if waiting:
                time.sleep(0.03)

    def _stop_part(self, name: str) -> bool:
        try:
            self._call("stopProcess", name, False)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode not in (Faults.NOT_RUNNING, Faults.BAD_NAME):
                raise StackError(f"{name}: {fault.faultString}") from fault
            return False
        return True

    def end(self) -> None:
        """Let the supervisor stop all parts and end; end it by force when it does not."""
        identity = self.site.supervisor()
        if identity is None:
            return
        try:
            self._call("shutdown")
            # It looks around once a second, or when somebody calls.
            for _ in range(10):
                if proc.wait_gone([identity.pid], 0.05):
                    return
                self._call("getState")
        except (StackError, xmlrpc.client.Fault):
            pass  # gone already, or deaf: the signal reaches it in any case
        proc.send(identity.pid, signal.SIGTERM)
        if not proc.wait_gone([identity.pid], 30.0):
            proc.send(identity.pid, signal.SIGKILL)
            proc.wait_gone([identity.pid], 5.0)
