"""Start and stop the whole stack in order, and clean up when a part fails."""

import os
import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from config.stack import ports, proc
from config.stack.console import Console
from config.stack.environment import compute, resolve_files
from config.stack.errors import PartError, StackError
from config.stack.oneshots import OneShots, tail
from config.stack.parts import PARTS, default_parts
from config.stack.parts.base import Layer, Part
from config.stack.signals import deaf, interruptible
from config.stack.site import ROOT, Site
from config.stack.status import Status, status_of
from config.stack.supervisor import Supervisor

FAILURES = 2  # quick failures in a row until `up` gives up on a part
SWEEP_GRACE_S = 5.0
EXTERNAL_S = 3.0  # for the user's own server to answer


class Stack:
    """Manage the servers and processes of one state directory.

    >>> stack = Stack(state_dir="var/test", parts=("postgres", "valkey"))
    >>> stack.up()
    >>> stack.environment()["DATABASE_URL"]
    >>> stack.down()
    """

    def __init__(
        self,
        state_dir: Path | str = ROOT / "var",
        parts: Iterable[str] | None = None,
        *,
        console: Console | None = None,
        given: Mapping[str, str] | None = None,
    ) -> None:
        self.site = Site.open(state_dir)
        self.supervisor = Supervisor(self.site)
        self.console = console or Console(quiet=True)
        self.given = resolve_files(os.environ if given is None else given)
        self.asked = default_parts(self.given) if parts is None else tuple(parts)
        # What this `up` starts, in order, so that a failure can take it back.
        self._started: list[str] = []
        self._supervisor_is_ours = False
        unknown = sorted(set(self.asked) - set(PARTS))
        if unknown:
            raise StackError(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")

    # --- asking

    def environment(self) -> dict[str, str]:
        """Return what a process needs to reach the running stack."""
        self.site = Site.open(self.site.state_dir)
        self.supervisor.site = self.site
        if not self.site.environment:
            raise StackError(f"nothing was started yet in {self.site.state_dir}: run `up` first")
        return dict(self.site.environment)

    def pid(self, part: str) -> int | None:
        """Return the number of the part's real process, not its launcher's."""
        identity = self.site.process(part)
        return None if identity is None else identity.pid

    def kill(self, part: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to the part's real process; return its number."""
        pid = self.pid(part)
        if pid is None:
            raise StackError(f"{part} does not run")
        proc.send(pid, number)
        return pid

    def is_ready(self, part: str) -> bool:
        return self._obstacle(PARTS[part]) is None

    def wait_ready(self, part: str, seconds: float = 60.0) -> None:
        """Wait until the part answers again after a kill."""
        deadline = time.monotonic() + seconds
        while (obstacle := self._obstacle(PARTS[part])) is not None:
            if time.monotonic() > deadline:
                raise PartError(f"{part} did not answer within {seconds:.0f} s: {obstacle}")
            time.sleep(0.1)

    def _obstacle(self, part: Part) -> str | None:
        if not self._external(part) and self.site.process(part.name) is None:
            return "not running"
        return part.ready(self.site)

    def _external(self, part: Part) -> bool:
        """Return whether the user's own server replaces the part."""
        return part.name in self.site.external

    def status(self) -> list[Status]:
        states = self.supervisor.states()
        return [status_of(self.site, part, states.get(part.name)) for part in PARTS.values()]

    # --- starting

    def up(self, *, page_first: bool = False) -> list[str]:
        """Start what does not run yet and wait until everything answers.

        With `page_first` only until the pages answer: what they need starts alone, then the rest.
        Returns what was started and not waited for; a group by its name.
        """
        with interruptible(), self.site.lock(self.console.say):
            self.site = Site.open(self.site.state_dir)
            self.supervisor.site = self.site
            self.site.make()
            self._started = []
            self._supervisor_is_ours = not self.supervisor.alive()
            try:
                late = self._up(page_first=page_first)
            except BaseException:
                self._take_back()
                raise
            return list(dict.fromkeys(part.group or part.name for part in late))

    def _up(self, *, page_first: bool) -> list[Part]:
        if self._supervisor_is_ours:
            self._sweep()
        wanted = self._with_needs()
        self.site.external = {
            part.name for part in PARTS.values() if self.given.get(part.replaced_by or "")
        }
        inside = [part for part in wanted if not self._external(part)]
        running = {part.name for part in inside if self._on_its_way(part)}
        self._choose_ports(inside, running)
        self._settle_environment(running)
        for part in wanted:
            if self._external(part):
                self._check_external(part)
        if self._supervisor_is_ours:
            self.supervisor.start(PARTS.values())
        else:
            self.supervisor.learn(PARTS.values())
        self._stop_outdated(running)
        layers = {layer: [part for part in inside if part.layer is layer] for layer in Layer}
        page = [part for part in layers[Layer.OWN] if part.name == "web"]
        if page_first and page:
            return self._start_page_first(layers, page)
        self._start_all(layers, page)
        return []

    def _start_all(self, layers: Mapping[Layer, list[Part]], page: list[Part]) -> None:
        stores, servers, own, fleet = (layers[layer] for layer in Layer)
        began = time.monotonic()
        # Java takes seconds to start: the tables are migrated meanwhile.
        self._start([*stores, *servers])
        self._await(stores, began)
        if own:
            self._bring_tables_up_to_date([*own, *fleet])
            self._start(own)
        self._await(servers, began)
        self._await(own, began)
        if page:
            self._load_demo(fleet)
        began = time.monotonic()
        self._start(fleet)
        self._await(fleet, began)

    def _start_page_first(self, layers: Mapping[Layer, list[Part]], page: list[Part]) -> list[Part]:
        """Start what the pages need and wait for them; start the rest, and return it."""
        stores, servers, own, fleet = (layers[layer] for layer in Layer)
        began = time.monotonic()
        self._start(stores)
        self._await(stores, began)
        self._bring_tables_up_to_date([*own, *fleet])
        self._start(page)
        self._await(page, began)
        self._load_demo(fleet)
        rest = [part for part in (*servers, *own, *fleet) if part not in page]
        self._start(rest)
        return [part for part in rest if part.name in self._started]

    def _load_demo(self, fleet: list[Part]) -> None:
        oneshots = self._oneshots()
        oneshots.load_demo()
        if fleet:
            oneshots.enrol()

    def _stop_outdated(self, running: set[str]) -> None:
        """End servers whose configuration has changed; `_start` starts them again."""
        stale = [
            PARTS[name] for name in PARTS if name in running and PARTS[name].outdated(self.site)
        ]
        if stale:
            names = ", ".join(sorted(part.name for part in stale))
            self.console.say(f"  the configuration changed: restarting {names}")
            self.supervisor.stop_parts(stale)

    def _with_needs(self) -> list[Part]:
        names = set(self.asked)
        todo = list(names)
        while todo:
            for need in PARTS[todo.pop()].needs:
                if need not in names:
                    names.add(need)
                    todo.append(need)
        return [part for part in PARTS.values() if part.name in names]

    def _on_its_way(self, part: Part) -> bool:
        """Return whether it runs or is about to, so that its port must stay; not when it keeps
        failing."""
        if self._supervisor_is_ours or self.site.process(part.name, "launcher") is None:
            return False
        return self.site.record(part.name).get("phase") in ("starting", "waiting", "running")

    def _choose_ports(self, inside: list[Part], running: set[str]) -> None:
        for part in PARTS.values():
            for name, preferred in part.ports.items():
                before = self.site.ports.get(name)
                # A part that is not started gets a number, too, so that every variable has a value.
                if before is not None and (part.name in running or part not in inside):
                    continue
                ours = {port for other, port in self.site.ports.items() if other != name}
                wished = int(self.given.get(f"WEIR_{name.upper()}_PORT") or before or preferred)
                port = ports.choose(wished, self.site.id, ours)
                if port != wished and part in inside and part.group is None:
                    self.console.say(
                        f"  {name}: port {wished} is taken by another program, using {port}", "warn"
                    )
                self.site.ports[name] = port

    def _settle_environment(self, running: set[str]) -> None:
        before = self.site.environment
        self.site.environment = compute(self.site, PARTS, self.given)
        Path(self.site.environment["WEIR_DATA_DIR"]).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.site.save()
        changed = sorted(
            name
            for name in before.keys() | self.site.environment.keys()
            if before.get(name) != self.site.environment.get(name)
        )
        affected = {part.name for part in PARTS.values() if part.layer >= Layer.OWN}
        if any(name.startswith(("WEIR_SPARK_M", "WEIR_JAVA")) for name in changed):
            affected.add("spark")
        stale = [name for name in PARTS if name in affected & running]
        if stale and before and changed:
            told = dict.fromkeys(PARTS[name].group or name for name in stale)
            self.console.say(f"  {', '.join(changed)} changed: restarting {', '.join(told)}")
            self.supervisor.stop_parts(PARTS[name] for name in stale)

    def _check_external(self, part: Part) -> None:
        deadline = time.monotonic() + EXTERNAL_S
        while (obstacle := part.ready(self.site)) is not None:
            if time.monotonic() > deadline:
                raise PartError(
                    f"{part.name}: the server that {part.replaced_by} names cannot be reached: "
                    f"{obstacle}\nCorrect {part.replaced_by}, or unset it to use the built-in one."
                )
            time.sleep(0.3)
        self.console.part(part.name, "ready", f"your own ({part.replaced_by})")

    def _start(self, parts: Iterable[Part]) -> None:
        states = self.supervisor.states()
        for part in parts:
            state = states.get(part.name)
            if state == "RUNNING":
                if self.site.record(part.name).get("phase") != "backing off":
                    continue
                self.supervisor.stop_parts([part])  # do not wait for its next try
            else:
                self._started.append(part.name)
            self.site.record_file(part.name).unlink(missing_ok=True)
            self.supervisor.start_part(part.name)

    def _await(self, parts: Iterable[Part], began: float) -> None:
        """Wait for all of them, printing each as it answers; the first that fails ends it.

        `began` is what the times told are counted from. Patience begins here: what came before,
        such as bringing large tables up to date on a slow machine, is no fault of these parts.
        """
        patient_since = time.monotonic()
        everything = list(parts)
        waiting = list(everything)
        while waiting:
            for part in list(waiting):
                if self._obstacle(part) is None:
                    waiting.remove(part)
                    if part.group is None:
                        self._tell_ready(part.name, [part], self._where(part), began)
                    elif not any(other.group == part.group for other in waiting):
                        members = [other for other in everything if other.group == part.group]
                        self._tell_ready(part.group, members, _short_names(members), began)
                    continue
                self._give_up_on(part, time.monotonic() - patient_since)
            if waiting:
                time.sleep(0.1)

    def _tell_ready(self, name: str, parts: list[Part], detail: str, began: float) -> None:
        ours = any(part.name in self._started for part in parts)
        self.console.part(name, "ready", detail, time.monotonic() - began if ours else None)

    def _give_up_on(self, part: Part, waited_s: float) -> None:
        record = self.site.record(part.name)
        if int(record.get("quick_failures", 0)) >= FAILURES:
            reason = record.get("problem") or "it ended at once"
        elif waited_s > part.start_timeout_s + (30.0 if part.needs else 0.0):
            reason = f"it did not answer within {waited_s:.0f} s: {self._obstacle(part)}"
        else:
            return
        self.console.part(part.name, "failed", seconds=waited_s)
        log = self.site.log_file(part.name)
        raise PartError(
            f"{part.name} cannot start: {reason}\n"
            f"--- the end of {log}\n{tail(log)}\n---\nWhat to do: {part.advice}"
        )

    def _where(self, part: Part) -> str:
        port = self.site.ports.get(next(iter(part.ports), ""))
        return "" if port is None else f"127.0.0.1:{port}"

    def _oneshots(self) -> OneShots:
        return OneShots(self.site, self.console, self.given)

    def _bring_tables_up_to_date(self, ours: list[Part]) -> None:
        """Migrate, and end processes that still run older code."""
        oneshots = self._oneshots()
        running = [part for part in ours if self.site.process(part.name) is not None]
        changed = oneshots.code_changed()
        if not changed and len(running) == len(ours):
            return
        oneshots.migrate()
        # Restart last: if the migration fails, the old code goes on running on the old tables.
        if running and changed:
            names = ", ".join(dict.fromkeys(part.group or part.name for part in running))
            self.console.say(f"  the code changed since it was started: restarting {names}")
            self.supervisor.stop_parts(running)

    # --- stopping

    def _take_back(self) -> None:
        """Undo this `up`: parts that ran before go on running, everything else ends."""
        with deaf():
            if self._supervisor_is_ours:
                self._stop_all()
            elif self._started:
                self.supervisor.stop_parts(PARTS[name] for name in self._started)

    def restart(self, part: str) -> None:
        """Stop and start one part, and wait until it is ready."""
        with interruptible(), self.site.lock(self.console.say):
            self._started = [part]
            self.supervisor.stop_parts([PARTS[part]])
            self._start([PARTS[part]])
            self._await([PARTS[part]], time.monotonic())

    def down(self) -> list[str]:
        """Stop everything, users of a server before the server; returns what ran."""
        with self.site.lock(self.console.say), deaf():
            return self._stop_all()

    def _stop_all(self) -> list[str]:
        stopped: list[str] = []
        try:
            states = self.supervisor.states()
        except StackError:
            states = {}  # it hangs: end() below uses force
        active = [name for name, state in states.items() if state in ("RUNNING", "STARTING")]
        for layer in reversed(Layer):
            group = [p for p in PARTS.values() if p.layer is layer and p.name in active]
            began = time.monotonic()
            self.supervisor.stop_parts(group)
            took = time.monotonic() - began
            for name in dict.fromkeys(part.group or part.name for part in group):
                self.console.part(name, "stopped", seconds=took)
            stopped += [part.name for part in group]
        self.supervisor.end()
        left = self._sweep()
        if left:
            self.console.say(f"  ended {len(left)} processes that were left over")
        if self.site.socket_dir != self.site.run_dir and self.site.socket_dir.exists():
            self.site.supervisor_socket.unlink(missing_ok=True)
            self.site.socket_dir.rmdir()
        return stopped

    def _sweep(self) -> list[int]:
        """End every process that carries this stack's mark, whoever its parent is."""
        steps = ((signal.SIGTERM, SWEEP_GRACE_S),)
        return proc.end(lambda: proc.tagged([self.site.tag]), steps)


def _short_names(members: list[Part]) -> str:
    """Return what distinguishes the members of a group: `rot-1, ham-1` for `broker-rot-1,
    broker-ham-1`."""
    return ", ".join(part.name.split("-", 1)[-1] for part in members)
