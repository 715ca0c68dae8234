"""One chaos run on the whole system: load, plans, faults, and the verdict."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from config.stack import Stack
from config.stack.parts import brokers
from config.stack.site import ROOT
from tests.e2e.auditing import AuditedLoad
from tests.e2e.chaos.audit import Verdict, is_tree
from tests.e2e.chaos.faults import Faults
from tests.e2e.fleet import Fleet

TOPICS = {
    "north": ("rot-1", ("ham-1", "leh-1", "bre-1", "rot-1")),
    "south": ("leh-1", ("rot-1", "ant-1", "fel-1", "bre-1")),
    "east": ("bre-1", ("ant-1", "ham-1", "leh-1", "fel-1")),
}
"""Word -> the broker that it comes in at, and those with a recorder."""
ENDED = ("succeeded", "failed", "stopped", "rolled_back")
PLAN_S = 180.0
SETTLE_S = 90.0

Shift = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of everything."""

    deliveries: int
    rounds: int
    """Plans, each with one fault."""
    rate_per_s: float
    longest_s: float
    """The longest freeze or outage, s."""
    seed: int


@dataclass(slots=True)
class Outcome:
    """What a run saw. `problems` empty: every promise was kept."""

    verdict: Verdict = field(default_factory=Verdict)
    executions: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    shifts: int = 0
    took_s: float = 0.0
    problems: list[str] = field(default_factory=list)

    def report(self) -> str:
        """The figures as text."""
        v = self.verdict
        lines = [
            f"{v.delivered} delivered, {v.lost} lost, {v.duplicated} doubled, "
            f"{v.reordered} reordered, {v.phantom} made up",
            f"{self.shifts} shifts ordered; executions: {dict(self.executions)}",
            *(f"{count} x {name}" for name, count in sorted(self.faults.items())),
            *(f"PROBLEM {problem}" for problem in self.problems),
            f"{'FAILED' if self.problems or not v.clean else 'passed'} in {self.took_s:.0f} s",
        ]
        return "\n".join(lines)


class PlanMaker:
    """The process that makes drafts; see `plan_maker`."""

    def __init__(self, stack: Stack) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.chaos.plan_maker"],
            cwd=ROOT,
            env={**os.environ, **stack.environment()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def make(self, **asked: Any) -> dict[str, Any]:
        """`{"plan": id}` or `{"error": why}`."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(asked) + "\n")
        self._child.stdin.flush()
        answer: dict[str, Any] = json.loads(self._child.stdout.readline())
        return answer

    def close(self) -> None:
        """End it."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait(10)


class Scenario:
    """`run` once, on a fleet at rest."""

    def __init__(
        self, stack: Stack, fleet: Fleet, size: Size, *, say: Callable[[str], None]
    ) -> None:
        self._stack, self._fleet, self._size, self._say = stack, fleet, size, say
        self._chance = random.Random(size.seed)
        self._faults = Faults(stack, self._chance, size.longest_s)
        self._outcome = Outcome()

    def run(self) -> Outcome:
        """Everything; what went wrong is in the outcome."""
        began = time.monotonic()
        outcome = self._outcome
        self._fleet.policy(pace_s=0)
        maker = PlanMaker(self._stack)
        try:
            with AuditedLoad(self._fleet, TOPICS, rate_per_s=self._size.rate_per_s) as load:
                load.wait_flowing()
                order = self._order_of_faults()
                number = 0
                while number < self._size.rounds or load.delivered() < self._size.deliveries:
                    self._round(maker, number, order[number % len(order)])
                    number += 1
                    if outcome.problems:
                        break
                self._settle("the end")
                outcome.verdict = load.verdict()
        finally:
            maker.close()
        if not outcome.verdict.clean:
            outcome.problems.append(str(outcome.verdict))
        outcome.took_s = time.monotonic() - began
        return outcome

    def _order_of_faults(self) -> list[str]:
        names = list(self._faults.names)
        self._chance.shuffle(names)
        return names

    # --- one plan with one fault

    def _round(self, maker: PlanMaker, number: int, fault: str) -> None:
        steps = self._choose()
        victim = self._chance.choice([b for shift in steps[0] for b in shift])
        plan = self._approved(maker, f"chaos {number}", steps)
        done: list[str] = []
        thread = threading.Thread(target=self._inject, args=(fault, victim, done))
        self._patiently(
            lambda: self._fleet.operator.command(f"/api/v1/plans/{plan}", "execute"),
            lambda: self._executions(plan) != [],
        )
        thread.start()
        thread.join()
        state = self._ended(plan)
        self._outcome.executions[state] += 1
        self._outcome.faults[fault] += 1
        self._outcome.shifts += sum(len(step) for step in steps)
        self._say(f"{number}: {steps}: {'; '.join(done)}: {state}")
        self._settle(f"round {number}")

    def _inject(self, fault: str, victim: str, done: list[str]) -> None:
        time.sleep(self._chance.uniform(0.0, 0.4))
        try:
            done.append(self._faults.names[fault](victim))
        except Exception as error:  # in a thread: it must reach the outcome
            self._outcome.problems.append(f"{fault} at {victim}: {type(error).__name__}: {error}")

    def _choose(self) -> list[list[Shift]]:
        """One step: a shift of the tree in force, and one beside it where there is room."""
        edges = {tuple(sorted(edge)) for edge in self._fleet.edges()}
        chosen: list[Shift] = []
        for _ in range(2):
            taken = {broker for shift in chosen for broker in shift}
            linked: dict[str, list[str]] = {name: [] for name in brokers.NAMES}
            for a, b in sorted(edges):
                linked[a].append(b)
                linked[b].append(a)
            possible = [
                (i, j, k)
                for j in brokers.NAMES
                for i in linked[j]
                for k in linked[j]
                if i != k and not taken & {i, j, k}
            ]
            if not possible:
                break
            chosen.append(self._chance.choice(possible))
        return [chosen]

    def _approved(self, maker: PlanMaker, title: str, steps: list[list[Shift]]) -> str:
        answer: dict[str, Any] = {}

        def make() -> None:
            answer.update(maker.make(system=self._fleet.system, title=title, steps=steps))

        self._patiently(make, lambda: "plan" in answer, why=lambda: str(answer.get("error")))
        plan = str(answer["plan"])
        address = f"/api/v1/plans/{plan}"
        fleet = self._fleet

        def state() -> str:
            return str(fleet.author.get(address)["state"])

        self._patiently(
            lambda: fleet.author.command(address, "submit"), lambda: state() == "pending_review"
        )
        body = {"comment": "", "content_hash": fleet.author.get(address)["content_hash"]}
        self._patiently(
            lambda: fleet.approver.command(address, "approve", body), lambda: state() == "approved"
        )
        return plan

    def _executions(self, plan: str) -> list[Any]:
        rows: list[Any] = self._fleet.everybody.get("/api/v1/executions", plan=plan)["results"]
        return rows

    def _ended(self, plan: str) -> str:
        """The state in which the plan's execution ended."""
        until = time.monotonic() + PLAN_S
        latest: Any = None
        while time.monotonic() < until:
            try:
                (latest,) = self._executions(plan)
                if latest["state"] in ENDED:
                    return str(latest["state"])
            except (httpx.HTTPError, ValueError) as error:
                latest = error
            time.sleep(0.1)
        self._outcome.problems.append(f"{plan} has not ended in {PLAN_S:g} s: {latest}")
        return "not ended"

    # --- between two rounds

    def _settle(self, when: str) -> None:
        """Until nothing is wrong: every agent live and without a problem, links as in force."""
        until = time.monotonic() + SETTLE_S
        wrong = ["not looked at"]
        while time.monotonic() < until:
            try:
                wrong = self._wrong()
            except (httpx.HTTPError, ValueError, KeyError) as error:
                wrong = [str(error)]
            if not wrong:
                return
            time.sleep(0.2)
        self._outcome.problems.append(f"{when}: after {SETTLE_S:g} s: {'; '.join(wrong)}")

    def _wrong(self) -> list[str]:
        edges = self._fleet.edges()
        wrong = [] if is_tree(brokers.NAMES, [tuple(e) for e in edges]) else [f"no tree: {edges}"]
        for row in self._fleet.rows("agents"):
            name, observed = row["broker_name"], row["observed"]
            if observed is None:  # killed before its first report
                wrong.append(f"{name} has reported nothing yet")
                continue
            links = {frozenset((name, other)) for other in observed["links"]}
            if links != {edge for edge in edges if name in edge}:
                wrong.append(f"{name} has the links {observed['links']}")
            if observed["problems"]:
                wrong.append(f"{name}: {observed['problems']}")
            if row["state"] != "live":
                wrong.append(f"{name} is {row['state']}")
        return wrong

    def _patiently(
        self,
        act: Callable[[], Any],
        done: Callable[[], bool],
        why: Callable[[], str] = lambda: "",
    ) -> None:
        """Ask until it is done, whatever is away meanwhile."""
        until = time.monotonic() + PLAN_S
        latest: object = None
        while time.monotonic() < until:
            try:
                latest = act()
                if done():
                    return
            except httpx.HTTPError as error:
                latest = error
            time.sleep(0.2)
        text = latest.text if isinstance(latest, httpx.Response) else str(latest)
        raise AssertionError(f"not done in {PLAN_S:g} s: {text} {why()}")
