"""Run one part under the supervisor: `python -m config.stack.launch STATE_DIR PART`.

The supervisor's restart is blind to three things that this process adds: a part starts only after
the parts it needs answer; a part that keeps failing is started ever more slowly; and no process of
it outlives it, however it, this launcher or the supervisor ends.
"""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from types import FrameType

from config.stack import proc
from config.stack.errors import PartError
from config.stack.parts import PARTS
from config.stack.parts.base import Command, Part
from config.stack.site import ROOT, TAG_PART, Site, write_json

QUICK_S = 20.0  # a part that lived shorter than this failed to start
DELAYS_S = (0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # before the n-th start in a row
NEEDS_TIMEOUT_S = 120.0
LEFTOVER_GRACE_S = 5.0


class Stopping(Exception):
    """Interrupt the start because the user asked to stop."""


class Launcher:
    def __init__(self, site: Site, part: Part) -> None:
        self.site = site
        self.part = part
        self.stopping = False
        self.child: int | None = None
        self.child_status: int | None = None
        self.record = site.record(part.name)
        # Written by the signal machinery: a wait ends the moment that a signal comes.
        self._wake, wake_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True

    def say(self, text: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        print(f"{now} weir.stack {self.part.name}: {text}", file=sys.stderr, flush=True)

    def note(self, **fields: object) -> None:
        self.record.update(fields)
        write_json(self.site.record_file(self.part.name), self.record)

    def sleep(self, seconds: float) -> None:
        select.select([self._wake], [], [], max(0.0, seconds))
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)

    def pause(self, seconds: float) -> None:
        """Sleep for some seconds; raise `Stopping` where a stop was requested."""
        deadline = time.monotonic() + seconds
        while (rest := deadline - time.monotonic()) > 0:
            if self.stopping:
                raise Stopping
            self.sleep(rest)
        if self.stopping:
            raise Stopping

    # --- before the start

    def begin_record(self) -> None:
        """Carry over the count of quick failures from the previous launcher."""
        supervisor = proc.identify(os.getppid())
        incarnation = [os.getppid(), supervisor.start_ticks if supervisor else 0]
        if self.record.get("supervisor") != incarnation:
            self.record = {"supervisor": incarnation, "starts": 0, "quick_failures": 0}
        us = proc.identify(os.getpid())
        self.note(
            part=self.part.name,
            launcher=[os.getpid(), us.start_ticks if us else 0],
            process=None,
            phase="starting",
            waiting_for=None,
        )

    def back_off(self) -> None:
        failures = int(self.record.get("quick_failures", 0))
        delay = DELAYS_S[min(failures, len(DELAYS_S) - 1)]
        if delay:
            self.say(f"failed {failures} times in a row: next start in {delay:.0f} s")
            self.note(phase="backing off")
            self.pause(delay)

    def clear_leftovers(self) -> None:
        """End processes of a killed predecessor, which would hold the port or the data."""
        tags = (self.site.tag, f"{TAG_PART}={self.part.name}")
        gentle = self.part.stop[0][0]
        left = proc.end(lambda: proc.tagged(tags), ((gentle, LEFTOVER_GRACE_S),))
        if left:
            self.say(f"ended what an earlier start left behind: {', '.join(map(str, left))}")

    def await_needs(self) -> None:
        deadline = time.monotonic() + NEEDS_TIMEOUT_S
        for name in self.part.needs:
            printed = False
            while (obstacle := PARTS[name].ready(self.site)) is not None:
                if not printed:
                    self.say(f"waiting for {name}")
                    self.note(phase="waiting", waiting_for=name)
                    printed = True
                if time.monotonic() > deadline:
                    raise PartError(f"waited {NEEDS_TIMEOUT_S:.0f} s for {name}: {obstacle}")
                self.pause(0.2)

    # --- the process

    def start(self, command: Command) -> None:
        us = os.getpid()
        number = self.part.stop[0][0]

        def before_exec() -> None:
            if command.before_exec is not None:
                command.before_exec()
            proc.die_with_parent(number, us)

        environment = {
            **os.environ,
            **self.site.environment,
            **command.environment,
            TAG_PART: self.part.name,
        }
        try:
            child = subprocess.Popen(
                command.arguments,
                cwd=command.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=before_exec,
                user=command.user,
                group=command.user,
                extra_groups=None if command.user is None else [],
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise PartError(f"cannot run {command.arguments[0]}: {error}") from error
        self.child = child.pid
        identity = proc.identify(child.pid)
        self.note(
            phase="running",
            waiting_for=None,
            problem=None,
            process=[child.pid, identity.start_ticks if identity else 0],
            starts=int(self.record.get("starts", 0)) + 1,
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            started_unix=time.time(),
        )

    def reap(self) -> None:
        """Collect our child and every orphan that we adopted."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child:
                self.child_status = status

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the child ends (True), the time is over or a stop was requested (False)."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self.reap()
            if self.child_status is not None:
                return True
            if deadline is None:
                if self.stopping:
                    return False
                self.sleep(3600.0)
            elif (rest := deadline - time.monotonic()) > 0:
                self.sleep(rest)
            else:
                return False

    def stop(self) -> None:
        if self.child is None or self.child_status is not None:
            return
        self.note(phase="stopping")
        for number, grace in self.part.stop:
            proc.send(self.child, number)
            if self.wait(grace):
                return
            self.say(f"still there {grace:.0f} s after {number.name}")

    def clear_tree(self) -> None:
        """End all processes below us, adopted orphans included."""
        us = os.getpid()
        left = proc.end(lambda: proc.descendants(us), ((signal.SIGTERM, 1.0),))
        self.reap()
        if left:
            self.say(f"ended {len(left)} processes below it")

    def run(self) -> int:
        lived_s = 0.0
        try:
            self.begin_record()
            self.clear_leftovers()
            self.back_off()
            self.await_needs()
            self.part.prepare(self.site)
            self.start(self.part.command(self.site))
            began = time.monotonic()
            if not self.wait():
                raise Stopping
            lived_s = time.monotonic() - began
            how = _how(self.child_status or 0)
            self.say(f"{how} after {lived_s:.1f} s")
            self.note(problem=how)
        except Stopping:
            self.stop()
            self.clear_tree()
            self.note(phase="stopped", process=None, waiting_for=None)
            return 0
        except PartError as error:
            self.say(str(error))
            self.note(problem=str(error))
        self.clear_tree()
        failures = int(self.record.get("quick_failures", 0)) + 1 if lived_s < QUICK_S else 0
        self.note(phase="ended", process=None, quick_failures=failures)
        return 1


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def main() -> int:
    state_dir, name = sys.argv[1:3]
    parent = os.getppid()
    proc.die_with_parent(signal.SIGTERM, parent)
    proc.adopt_orphans()
    os.chdir(ROOT)
    return Launcher(Site.open(state_dir), PARTS[name]).run()


if __name__ == "__main__":
    sys.exit(main())
