"""The processes of a measurement: brokers, agents, the control plane."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.nats_server import free_port

ROOT = Path(__file__).resolve().parents[2]
READY_S = 60.0


class Process:
    """A child that can be stopped and frozen."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; who waits for what is the caller's matter."""
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                self._command,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def stop(self) -> None:
        """Ask it to end, then make it."""
        child, self._child = self._child, None
        if child is None:
            return
        child.terminate()
        try:
            child.wait(8)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(5)

    def pause(self) -> None:
        """It answers nobody, and does not know."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """After `pause`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        self._child.send_signal(number)


class Fleet:
    """A system on real processes. Use as a context manager."""

    def __init__(self, directory: Path, system: dict[str, Any], *, together: str = "") -> None:
        """`system`: its `brokers`, `edges`, `flows` and `classes`, as `six_brokers.system` makes
        them. `together`: a module that runs all agents in one process; it is given their folder."""
        self.directory = directory
        self.system = system
        directory.mkdir(parents=True, exist_ok=True)
        shared = BrokerSecrets.generate()
        self.client_key = shared.client_key
        self.brokers = {
            name: Broker(
                name,
                directory / f"broker-{name}",
                BrokerSecrets.generate(client_key=shared.client_key),
            )
            for name in system["brokers"]
        }
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        (directory / "system.json").write_text(json.dumps(system))
        self.control = Process(
            [
                sys.executable,
                "-m",
                "benchmarks.fleet.control",
                "--port",
                str(self._port),
                "--system",
                str(directory / "system.json"),
            ],
            directory / "control.log",
        )
        self.agents = {name: self._agent(name, broker) for name, broker in self.brokers.items()}
        if together:
            command = [sys.executable, "-m", together, "--control-plane", self.url]
            (directory / "brokers.json").write_text(
                json.dumps({name: broker.url for name, broker in self.brokers.items()})
            )
            log = directory / "agents.log"
            self.agents = {"all": Process([*command, "--fleet", str(directory)], log)}

    def _agent(self, name: str, broker: Broker) -> Process:
        folder = self.directory / f"agent-{name}"
        folder.mkdir()
        (folder / "credential").write_text(name)
        broker.secrets.save(folder / "secrets.json")
        return Process(
            [
                sys.executable,
                "-m",
                "agent",
                "run",
                "--control-plane",
                self.url,
                "--credential-file",
                str(folder / "credential"),
                "--broker",
                broker.url,
                "--address",
                broker.url,
                "--state-dir",
                str(folder / "state"),
                "--secrets-file",
                str(folder / "secrets.json"),
                "--report-every-s",
                "0.5",
            ],
            self.directory / f"agent-{name}.log",
        )

    def __enter__(self) -> Fleet:
        try:
            self.control.start()
            for broker in self.brokers.values():
                broker.start()
            for agent in self.agents.values():
                agent.start()
            self.settle(READY_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for agent in self.agents.values():
            agent.stop()
        self.control.stop()
        for broker in self.brokers.values():
            broker.kill()

    # --- the control plane

    def state(self, within_s: float = 10.0, *, execution: str = "") -> dict[str, Any]:
        """What the control plane knows; of one execution, or of all."""
        until = time.monotonic() + within_s
        url = f"{self.url}/test/state?execution={execution}"
        while True:
            try:
                with urllib.request.urlopen(url, timeout=3) as answer:
                    return dict(json.load(answer))
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def shift(self, name: str, i: str, j: str, k: str) -> None:
        """Order a shift; the same name again changes nothing."""
        self.plan(name, [[(i, j, k)]])

    def plan(self, name: str, steps: Sequence[Sequence[tuple[str, str, str]]]) -> None:
        """Order steps of shifts (i, j, k); the same name again changes nothing."""
        roles = [[dict(zip("ijk", shift, strict=True)) for shift in step] for step in steps]
        body = json.dumps({"name": name, "steps": roles}).encode()
        until = time.monotonic() + 10
        while True:
            request = urllib.request.Request(f"{self.url}/test/plan", data=body)
            try:
                with urllib.request.urlopen(request, timeout=3):
                    return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def ended(self, name: str, within_s: float) -> str:
        """The state in which an execution ended. Raises TimeoutError with what is known."""
        until = time.monotonic() + within_s
        while True:
            execution = self.state(execution=name)["executions"].get(name)
            if execution and execution["state"] in ("succeeded", "failed", "stopped"):
                return str(execution["state"])
            if time.monotonic() > until:
                raise TimeoutError(f"{name} has not ended in {within_s:g} s: {execution}")
            time.sleep(0.05)

    def wrong(self) -> list[str]:
        """Where the control plane and the agents' tables differ, and what agents complain about."""
        state = self.state()
        edges = {tuple(edge) for edge in state["edges"]}
        found = []
        for name, agent in state["agents"].items():
            linked = {b if a == name else a for a, b in edges if name in (a, b)}
            observed = agent["observed"]
            if set(observed.get("links", ())) != linked:
                found.append(
                    f"{name}: tables {observed.get('links')}, control plane {sorted(linked)}"
                )
            if observed.get("problems"):
                found.append(f"{name}: {observed['problems']}")
            if not agent["live"]:
                found.append(f"{name}: silent")
        return found

    def settle(self, within_s: float) -> None:
        """Until nothing is wrong. Raises TimeoutError saying what is."""
        until = time.monotonic() + within_s
        while wrong := self.wrong():
            if time.monotonic() > until:
                raise TimeoutError("; ".join(wrong))
            time.sleep(0.1)
