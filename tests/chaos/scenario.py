"""One chaos run: traffic, shifts under load, kills, and the verdict."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.audit import Verdict, excess, is_tree, judge
from tests.chaos.fleet import Fleet
from tests.chaos.traffic import (
    Published,
    Recorded,
    publish_best_effort,
    publish_reliable,
    record_best_effort,
    record_reliable,
)

BROKERS = tuple("abcdef")
EDGES = (("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("e", "f"))
INGRESS = {"r1": "a", "r2": "c", "r3": "d", "r4": "f"}
READERS = {"r1": "bcdf", "r2": "abef", "r3": "acef", "r4": "abdf"}
GATED, GATE_RATE, GATE_BURST = "g", 200.0, 20.0
GATE_JITTER_S = 2.0
"""How much later than at the gate a recorder may see a message on a busy machine. Twice the rate is
offered, so a gate that does not hold is far above; that it holds exactly is shown at the gate
itself (tests/agent/test_router_gate.py)."""
LIMITED, LIMIT, CONTENDERS = "g@c", 2, 4
KILLS = ("agent", "broker", "control", "machine")
"""What is killed -9; a machine is a broker together with its agent."""
END_S = 60.0
"""How long what was published may take to arrive after the last publish."""


def system(gate_of_reliable: float) -> dict[str, Any]:
    """Six brokers in a tree, four reliable flows, one best-effort flow behind a narrow gate."""
    flows: dict[str, Any] = {
        flow: {
            "delivery": "reliable",
            "ingress": broker,
            "rate_per_s": gate_of_reliable,
            "burst": max(10.0, gate_of_reliable / 20),
        }
        for flow, broker in INGRESS.items()
    }
    flows[GATED] = {
        "delivery": "best_effort",
        "ingress": "a",
        "rate_per_s": GATE_RATE,
        "burst": GATE_BURST,
    }
    classes: dict[str, Any] = {
        f"{flow}@{broker}": {"flow": flow, "broker": broker, "limit": 1}
        for flow, brokers in READERS.items()
        for broker in brokers
    }
    classes[f"{GATED}@a"] = {"flow": GATED, "broker": "a", "limit": 1}
    classes[LIMITED] = {"flow": GATED, "broker": "c", "limit": LIMIT}
    return {
        "brokers": list(BROKERS),
        "edges": [list(edge) for edge in EDGES],
        "flows": flows,
        "classes": classes,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of everything."""

    deliveries: int = 50_000
    shifts: int = 10
    kills: int = 3
    """At random moments of shifts, in the turn of `KILLS`."""
    rate_per_s: float = 200.0
    """Of each reliable publisher."""
    seed: int = 1
    without: str = ""
    """A safeguard of the agents that is taken out (`tests.chaos.sabotage`)."""


@dataclass(slots=True)
class Outcome:
    """What a run found. `problems` empty: every promise was kept."""

    verdict: Verdict = field(default_factory=Verdict)
    best_effort: Verdict = field(default_factory=Verdict)
    shifts: int = 0
    attempts: int = 0
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KILLS, 0))
    pauses_s: list[float] = field(default_factory=list)
    aborts: list[list[Any]] = field(default_factory=list)
    gate_excess: float = 0.0
    most_admitted: int = 0
    repeated: int = 0
    took_s: float = 0.0
    problems: list[str] = field(default_factory=list)


class Scenario:
    """`run` once."""

    def __init__(
        self, directory: Path, size: Size, *, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.size = size
        self.outcome = Outcome()
        self._say = say
        self._random = random.Random(size.seed)
        self._fleet = Fleet(
            directory, system(max(400.0, 2 * size.rate_per_s)), without=size.without
        )
        self._published = {flow: Published(flow) for flow in (*INGRESS, GATED)}
        self._recorded = {
            f"{flow}@{broker}": Recorded(f"{flow}@{broker}", flow)
            for flow, brokers in READERS.items()
            for broker in brokers
        }
        self._gated = Recorded(f"{GATED}@a", GATED)
        self._shifted = False

    def run(self) -> Outcome:
        """Everything. What went wrong is in the outcome's problems."""
        start = time.monotonic()
        with self._fleet:
            self._say(f"fleet stands after {time.monotonic() - start:.1f} s")
            asyncio.run(self._live())
        self.outcome.took_s = time.monotonic() - start
        return self.outcome

    # --- traffic

    def _expected(self) -> int:
        return sum(self._published[flow].acknowledged * len(READERS[flow]) for flow in INGRESS)

    def _enough(self) -> bool:
        return self._shifted and self._expected() >= self.size.deliveries

    async def _live(self) -> None:
        fleet, key = self._fleet, self._fleet.client_key
        url = {name: broker.url for name, broker in fleet.brokers.items()}
        recorders = [
            record_reliable(url[name.partition("@")[2]], key, recorded)
            for name, recorded in self._recorded.items()
        ]
        recorders.append(record_best_effort(url["a"], key, self._gated, consumer="g@a#1"))
        contenders = [Recorded(LIMITED, GATED) for _ in range(CONTENDERS)]
        recorders += [
            record_best_effort(url["c"], key, recorded, consumer=f"{LIMITED}#{n}")
            for n, recorded in enumerate(contenders)
        ]
        listening = [asyncio.create_task(recorder) for recorder in recorders]
        listening.append(asyncio.create_task(self._watch_admission()))
        publishing = [
            asyncio.create_task(
                publish_reliable(
                    url[broker],
                    key,
                    self._published[flow],
                    rate_per_s=self.size.rate_per_s,
                    enough=self._enough,
                )
            )
            for flow, broker in INGRESS.items()
        ]
        publishing.append(
            asyncio.create_task(
                publish_best_effort(
                    url["a"],
                    key,
                    self._published[GATED],
                    rate_per_s=2 * GATE_RATE,
                    enough=self._enough,
                )
            )
        )
        try:
            await asyncio.to_thread(self._shift_and_kill)
            self._shifted = True
            await asyncio.gather(*publishing)
            self._say(f"published, {self._expected()} deliveries expected")
            await self._arrived()
        except (TimeoutError, OSError, AssertionError) as error:
            self.outcome.problems.append(f"{type(error).__name__}: {error}")
        finally:
            self._shifted = True
            for task in (*publishing, *listening):
                task.cancel()
            await asyncio.gather(*publishing, *listening, return_exceptions=True)
        self._judge(contenders)

    async def _arrived(self) -> None:
        """Until everything expected is there, and a little longer for what is not expected."""
        until = time.monotonic() + END_S
        while time.monotonic() < until:
            if all(
                len(set(recorded.numbers)) >= self._published[recorded.flow].acknowledged
                for recorded in self._recorded.values()
            ):
                break
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)

    async def _watch_admission(self) -> None:
        """By the broker's own list, not by the agent's word."""
        address = self._fleet.brokers["c"].monitor_url + "/connz?auth=1&limit=1000"
        while True:
            with contextlib.suppress(OSError, ValueError, TypeError):
                body = await asyncio.to_thread(_fetch, address)
                admitted = [
                    c
                    for c in body["connections"]
                    if c.get("name", "").startswith(f"{LIMITED}#") and c.get("account")
                ]
                self.outcome.most_admitted = max(self.outcome.most_admitted, len(admitted))
            await asyncio.sleep(0.2)

    # --- shifts and kills

    def _shift_and_kill(self) -> None:
        # At most one kill per shift, spread evenly over the run.
        due = {
            int((n + 0.5) * self.size.shifts / self.size.kills): KILLS[n % len(KILLS)]
            for n in range(self.size.kills)
        }
        time.sleep(1.0)
        for number in range(self.size.shifts):
            i, j, k = self._choose()
            name = f"shift-{number}"
            began = time.monotonic()
            self._fleet.shift(name, i, j, k)
            if number in due:
                time.sleep(self._random.uniform(0.0, 0.3))
                self._kill(due[number], (i, j, k))
            state = self._fleet.ended(name, 90)
            if state != "succeeded":
                self.outcome.problems.append(f"{name} ended as {state}")
            self._fleet.settle(30)
            self.outcome.shifts += state == "succeeded"
            self._check(name)
            self._say(f"{name} {i}-{j} to {i}-{k}: {time.monotonic() - began:.2f} s")

    def _choose(self) -> tuple[str, str, str]:
        edges = [tuple(edge) for edge in self._fleet.state()["edges"]]
        linked: dict[str, list[str]] = {name: [] for name in BROKERS}
        for a, b in edges:
            linked[a].append(b)
            linked[b].append(a)
        return self._random.choice(
            [(i, j, k) for j in BROKERS for i in linked[j] for k in linked[j] if i != k]
        )

    def _kill(self, what: str, concerned: tuple[str, str, str]) -> None:
        fleet, name = self._fleet, ""
        victims: list[Any] = [fleet.control]
        if what != "control":
            name = self._random.choice(concerned if self._random.random() < 0.7 else BROKERS)
            victims = {
                "agent": [fleet.agents[name]],
                "broker": [fleet.brokers[name]],
                "machine": [fleet.brokers[name], fleet.agents[name]],
            }[what]
        self._say(f"kill -9 {what} {name}")
        for victim in victims:
            victim.kill()
        time.sleep(self._random.uniform(0.1, 0.6))
        for victim in victims:
            victim.start()
        self.outcome.kills[what] += 1

    def _check(self, name: str) -> None:
        """What must hold between two shifts."""
        state = self._fleet.state()
        if not is_tree(BROKERS, state["edges"]):
            self.outcome.problems.append(f"after {name}: {state['edges']} is no tree")
        for agent, process in self._fleet.agents.items():
            if process.ended:
                self.outcome.problems.append(f"after {name}: agent {agent} has ended by itself")
        for execution, body in state["executions"].items():
            if not set(body["actions"]) <= {"done", "aborted"}:
                self.outcome.problems.append(f"{execution} has not ended: {body['actions']}")
            phases = body["phases"]
            released = {(b, n) for b, n, phase in phases if phase == "released"}
            switched = {(b, n) for b, n, phase in phases if phase == "switched"}
            if released & switched:
                self.outcome.problems.append(f"{execution} was both aborted and switched")

    # --- verdict

    def _judge(self, contenders: list[Recorded]) -> None:
        outcome = self.outcome
        for name, recorded in self._recorded.items():
            published = self._published[recorded.flow]
            verdict = judge(
                published.acknowledged,
                published.acknowledged + 1,
                recorded.numbers,
                len(recorded.texts),
            )
            outcome.verdict += verdict
            if not verdict.clean:
                outcome.problems.append(f"{name}: {verdict}")
        for recorded in (self._gated, *contenders):
            sent = self._published[GATED].acknowledged
            outcome.best_effort += judge(0, sent, recorded.numbers, len(recorded.texts))
        if outcome.best_effort.phantom:
            outcome.problems.append(f"best effort: {outcome.best_effort}")
        outcome.gate_excess = excess(self._gated.times, GATE_RATE, GATE_BURST)
        if outcome.gate_excess > 1 + GATE_RATE * GATE_JITTER_S:
            outcome.problems.append(f"the gate let {outcome.gate_excess:.0f} too many pass")
        if outcome.most_admitted > LIMIT:
            outcome.problems.append(f"{outcome.most_admitted} were admitted, limit {LIMIT}")
        outcome.repeated = sum(p.repeated for p in self._published.values())
        with contextlib.suppress(OSError):
            state = self._fleet.state()
            outcome.pauses_s = state["pauses_s"]
            outcome.aborts = state["aborts"]
            outcome.attempts = sum(body["attempts"] for body in state["executions"].values())
        expected = {
            "deliveries": outcome.verdict.delivered >= self.size.deliveries,
            "shifts": outcome.shifts == self.size.shifts,
            "kills": sum(outcome.kills.values()) == self.size.kills,
            "pauses": len(outcome.pauses_s) > 0 or not self.size.shifts,
            "best effort": outcome.best_effort.delivered > 0,
            "somebody admitted": outcome.most_admitted == LIMIT,
        }
        outcome.problems += [
            f"fewer than asked for: {k}" for k, good in expected.items() if not good
        ]


def _fetch(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address, timeout=2) as answer:
        return dict(json.load(answer))
