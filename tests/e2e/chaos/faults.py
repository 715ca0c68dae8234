"""What is done to the running system, and how it is taken back."""

from __future__ import annotations

import contextlib
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import psutil

from config.stack import Stack
from config.stack.parts import PARTS, brokers

CONTROL_PLANE = ("coordinator", "control", "web", "postgres", "valkey")
FULL_DISK_S = 1.5


class Faults:
    """Each method injects one fault and returns when it is taken back; `names` lists them."""

    def __init__(self, stack: Stack, chance: random.Random, longest_s: float) -> None:
        """`longest_s`: the longest time that a process is frozen or away."""
        self._stack = stack
        self._chance = chance
        self._longest_s = longest_s

    @property
    def names(self) -> Mapping[str, Callable[[str], str]]:
        """Name -> fault; called with a broker, it says what was done."""
        return {
            **{f"kill of {part}": partial(self.kill_part, part) for part in CONTROL_PLANE},
            **{f"frozen {part}": partial(self.freeze_part, part) for part in CONTROL_PLANE},
            "kill of an agent": self.kill_agent,
            "kill of a broker": self.kill_broker,
            "kill of a machine": self.kill_machine,
            "frozen agent": self.freeze_agent,
            "frozen broker": self.freeze_broker,
            "outage of the control plane": self.control_plane_away,
            "agent without its state directory": self.lose_state_directory,
            "full disk of an agent": self.fill_disk,
        }

    # --- killed

    def kill_part(self, part: str, broker: str) -> str:
        """-9; the supervisor starts it again."""
        self._kill(part)
        return f"killed {part}"

    def kill_agent(self, broker: str) -> str:
        """-9."""
        self._kill(f"agent-{broker}")
        return f"killed agent-{broker}"

    def kill_broker(self, broker: str) -> str:
        """-9."""
        self._kill(f"broker-{broker}")
        return f"killed broker-{broker}"

    def kill_machine(self, broker: str) -> str:
        """A broker with its agent."""
        self._kill(f"broker-{broker}", f"agent-{broker}")
        return f"killed broker-{broker} and agent-{broker}"

    # --- frozen

    def freeze_part(self, part: str, broker: str) -> str:
        """Every process of one part of the control plane."""
        return self._freeze(part)

    def freeze_agent(self, broker: str) -> str:
        """Longer than its lease, at times."""
        return self._freeze(f"agent-{broker}")

    def freeze_broker(self, broker: str) -> str:
        """Its connections stay open and say nothing."""
        return self._freeze(f"broker-{broker}")

    # --- away

    def control_plane_away(self, broker: str) -> str:
        """Web and the coordinators' processes are down together, for up to the longest time."""
        away_s = self._some_time()
        parts = ("web", "coordinator", "control")
        with self._stopped(*parts):
            time.sleep(away_s)
        return f"control plane away for {away_s:.1f} s"

    def lose_state_directory(self, broker: str) -> str:
        """The agent comes back with nothing; its broker still has what it had."""
        part = f"agent-{broker}"
        with self._stopped(part):
            shutil.rmtree(brokers.home_of(self._stack.site, broker) / "agent")
        return f"{part} lost its state directory"

    def fill_disk(self, broker: str) -> str:
        """No file of the agent can grow: writes and what depends on them fail."""
        pid = self._stack.pid(f"agent-{broker}")
        if pid is None:
            return "nothing: the agent was away"
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
        time.sleep(FULL_DISK_S)
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        return f"agent-{broker} could write no file for {FULL_DISK_S:g} s"

    # --- inside

    def _some_time(self) -> float:
        return self._chance.uniform(0.5, self._longest_s)

    def _kill(self, *parts: str) -> None:
        killed = {}
        for part in parts:
            killed[part] = self._stack.pid(part)
            if killed[part] is not None:
                self._stack.kill(part)
        for part in parts:
            self._wait_for_successor(part, killed[part])

    def _wait_for_successor(self, part: str, killed: int | None) -> None:
        until = time.monotonic() + 60
        while self._stack.pid(part) in (killed, None):
            assert time.monotonic() < until, f"{part} was not started again"
            time.sleep(0.05)
        self._stack.wait_ready(part, 60)

    def _freeze(self, part: str) -> str:
        pid = self._stack.pid(part)
        if pid is None:
            return f"nothing: {part} was away"
        frozen_s = self._some_time()
        processes = [psutil.Process(pid)]
        processes += processes[0].children(recursive=True)
        for number, pause_s in ((signal.SIGSTOP, frozen_s), (signal.SIGCONT, 0.0)):
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            time.sleep(pause_s)
        self._stack.wait_ready(part, 60)
        return f"froze {part} for {frozen_s:.1f} s"

    @contextlib.contextmanager
    def _stopped(self, *parts: str) -> Iterator[None]:
        self._stack.supervisor.stop_parts([PARTS[name] for name in parts])
        try:
            yield
        finally:
            for name in parts:
                self._stack.supervisor.start_part(name)
            for name in parts:
                self._stack.wait_ready(name, 60)
