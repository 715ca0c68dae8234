"""A control plane small enough to be killed at will: the real `decide` over the real protocol.

One process, one state file, written and flushed before anybody is told. It plays what the Django
executor does in Postgres. `tests.chaos.control_server` serves it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weir.coordination.coordinator import Limits, decide
from weir.coordination.decisions import AbortAction, CommitAction, Decision, applied
from weir.coordination.views import ActionView, ExecutionView, Protocol, StepView, orders_of
from weir.coordination.wire import (
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    Gate,
    Neighbour,
    Report,
    report_from_dict,
    to_dict,
)
from weir.lifecycle.executions import ACTIVE, ExecutionState
from weir.lifecycle.steps import ActionState, StepState

LEASE_S, POLL_S = 3.0, 5.0
LIMITS = Limits(prepare_timeout_s=2.5, max_attempts=20)


@dataclass(slots=True)
class Agent:
    """What is known of one broker's agent."""

    address: str = ""
    key: str = ""
    incarnation: int = 0
    lease_until: float = 0.0
    observed: dict[str, Any] = field(default_factory=dict)
    telemetry: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """Everything, in one piece, as Postgres would hold it."""

    system: dict[str, Any]
    edges: set[frozenset[str]]
    agents: dict[str, Agent]
    executions: dict[str, ExecutionView] = field(default_factory=dict)
    pauses_s: list[float] = field(default_factory=list)
    """Of every participant that switched."""
    aborts: list[tuple[float, float, str]] = field(default_factory=list)
    """(seconds from the attempt's begin to the abort, to its end, why)."""
    began: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    """Action -> when its last attempt was prepared, and when it was done."""
    aborted_at: dict[str, float] = field(default_factory=dict)


class Control:
    """The state, one change at a time."""

    def __init__(self, path: Path, system: dict[str, Any]) -> None:
        self._path = path
        self._changed = threading.Condition()
        self._standing: dict[str, tuple[Document, str]] = {}
        self._over_path = path.with_suffix(".over")
        self._over: dict[str, ExecutionView] = {}
        """Executions of which nothing more comes: written once, not with every change."""
        if path.exists():
            self.state: State = pickle.loads(path.read_bytes())
            # Whoever is in both was being put away when the process was killed.
            self._over = {
                name: view
                for name, view in _put_away(self._over_path)
                if name not in self.state.executions
            }
        else:
            self.state = State(
                system=system,
                edges={frozenset(edge) for edge in system["edges"]},
                agents={name: Agent() for name in system["brokers"]},
            )
            self._save()

    def _save(self) -> None:
        new = self._path.with_suffix(".new")
        with new.open("wb") as file:
            pickle.dump(self.state, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)

    def _put_away(self, name: str, view: ExecutionView) -> None:
        with self._over_path.open("ab") as file:
            pickle.dump((name, view), file)
            file.flush()
            os.fsync(file.fileno())
        self._over[name] = view
        del self.state.executions[name]

    # --- agents

    def session(self, broker: str, address: str, key: str) -> dict[str, Any]:
        with self._changed:
            agent = self.state.agents[broker]
            agent.incarnation += 1
            agent.address, agent.key = address, key
            agent.lease_until = time.time() + LEASE_S
            self._save()
            self._changed.notify_all()
            return {
                "system": "chaos",
                "broker": broker,
                "incarnation": agent.incarnation,
                "lease_s": LEASE_S,
                "poll_s": POLL_S,
            }

    def fenced(self, broker: str, incarnation: int) -> bool:
        return self.state.agents[broker].incarnation != incarnation

    def document(self, broker: str, seen: str) -> Document | None:
        until = time.monotonic() + POLL_S
        with self._changed:
            while True:
                document = self._document(broker)
                if document.version != seen:
                    return document
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)

    def _document(self, broker: str) -> Document:
        state = self.state
        if broker not in self._standing:
            standing = _standing(state.system, broker)
            self._standing[broker] = standing, _hash(to_dict(standing))
        standing, standing_version = self._standing[broker]
        addresses = {name: a.address for name, a in state.agents.items() if a.address}
        keys = {name: agent.key for name, agent in state.agents.items()}
        document = replace(
            standing,
            neighbours={
                # Also where nobody has come yet: what is for it has to wait.
                other: Neighbour(address=addresses.get(other, ""), key=keys.get(other, ""))
                for edge in state.edges
                if broker in edge
                for other in edge - {broker}
            },
            orders=tuple(
                order
                for view in state.executions.values()
                for step in view.steps
                for action in step.actions
                if (order := orders_of(action, addresses, keys).get(broker)) is not None
            ),
        )
        changing = to_dict(replace(document, flows={}, gates={}, classes={}))
        return replace(document, version=_hash([standing_version, changing]))

    def report(self, broker: str, body: dict[str, Any]) -> None:
        with self._changed:
            agent = self.state.agents[broker]
            agent.lease_until = time.time() + LEASE_S
            agent.observed = body.get("observed") or agent.observed
            agent.telemetry = body.get("telemetry") or agent.telemetry
            reports = [report_from_dict(plain) for plain in body.get("reports") or ()]
            for report in reports:
                self._map_action(
                    report.action,
                    lambda a, r=report: replace(
                        a,
                        reports={
                            **a.reports,
                            broker: _with(a.reports.get(broker, ()), r),
                        },
                    ),
                )
            if reports:
                self._advance()

    def _map_action(self, action: str, change: Any) -> None:
        for name, view in self.state.executions.items():
            self.state.executions[name] = replace(
                view,
                steps=tuple(
                    replace(
                        step,
                        actions=tuple(change(a) if a.id == action else a for a in step.actions),
                    )
                    for step in view.steps
                ),
            )

    # --- executions

    def plan(self, name: str, steps: list[list[dict[str, str]]]) -> None:
        """Carry out steps of shifts, each given as role -> broker; the same name again changes
        nothing."""
        with self._changed:
            if name not in self.state.executions and name not in self._over:
                self.state.executions[name] = ExecutionView(
                    state=ExecutionState.PENDING,
                    steps=tuple(
                        StepView(
                            id=f"{name}s{s}",
                            index=s,
                            state=StepState.PENDING,
                            actions=tuple(
                                _shift(f"{name}s{s}a{a}", roles) for a, roles in enumerate(step)
                            ),
                        )
                        for s, step in enumerate(steps)
                    ),
                    live=frozenset(),
                )
            self._advance()

    def tick(self) -> None:
        with self._changed:
            if any(view.state in ACTIVE for view in self.state.executions.values()):
                self._advance()

    def _advance(self) -> None:
        now = time.time()
        live = frozenset(n for n, a in self.state.agents.items() if a.lease_until > now)
        changed = False
        for name, view in list(self.state.executions.items()):
            view = replace(view, live=live)
            for decision in decide(view, now, LIMITS):
                self._effect(view, decision, now)
                view = applied(view, decision, now)
                changed = True
            self.state.executions[name] = view
            if not _under_way(view):
                self._put_away(name, view)
        self._save()
        if changed:
            self._changed.notify_all()

    def _effect(self, view: ExecutionView, decision: Decision, now: float) -> None:
        actions = {a.id: a for step in view.steps for a in step.actions}
        match type(decision).__name__:
            case "PrepareAction":
                self.state.began[decision.action] = now
            case "AbortAction":
                assert isinstance(decision, AbortAction)
                self.state.aborted_at[decision.action] = now
                took = now - self.state.began[decision.action]
                self.state.aborts.append((took, 0.0, decision.reason))
            case "SettleAction":
                took, _, why = self.state.aborts[-1]
                self.state.aborts[-1] = (took, now - self.state.began[decision.action], why)
            case "CommitAction":
                assert isinstance(decision, CommitAction)
                peers = actions[decision.action].participants
                i, j, k = peers["i"], peers["j"], peers["k"]
                assert frozenset({i, j}) in self.state.edges
                self.state.edges -= {frozenset({i, j})}
                self.state.edges |= {frozenset({i, k})}
            case "FinishAction":
                self.state.ended[decision.action] = now
                action = actions[decision.action]
                for said in action.reports.values():
                    for report in said:
                        if report.phase == "switched" and report.pause_s is not None:
                            self.state.pauses_s.append(report.pause_s)

    def shown(self, execution: str = "") -> dict[str, Any]:
        """Everything; of the executions only one, if it is named."""
        with self._changed:
            state, now = self.state, time.time()
            return {
                "edges": sorted(sorted(edge) for edge in state.edges),
                "agents": {
                    name: {
                        "live": a.lease_until > now,
                        "incarnation": a.incarnation,
                        "observed": a.observed,
                        "telemetry": a.telemetry,
                    }
                    for name, a in state.agents.items()
                },
                "executions": {
                    name: {
                        "state": view.state,
                        "actions": [a.state for s in view.steps for a in s.actions],
                        "times": [
                            {
                                "brokers": sorted(a.participants.values()),
                                "attempts": a.attempt,
                                "began": state.began.get(a.id),
                                "ended": state.ended.get(a.id),
                            }
                            for s in view.steps
                            for a in s.actions
                        ],
                        "attempts": max(a.attempt for s in view.steps for a in s.actions),
                        "phases": sorted(
                            {
                                (b, r.attempt, r.phase)
                                for s in view.steps
                                for a in s.actions
                                for b, said in a.reports.items()
                                for r in said
                            }
                        ),
                    }
                    for name, view in (self._over | state.executions).items()
                    if name == (execution or name)
                },
                "pauses_s": state.pauses_s,
                "aborts": state.aborts,
            }


def _with(said: tuple[Report, ...], report: Report) -> tuple[Report, ...]:
    return said if report in said else (*said, report)


def _under_way(view: ExecutionView) -> bool:
    """Whether anything may still come of it: of many that have ended, nobody is asked."""
    return view.state in ACTIVE or any(
        action.state is ActionState.DEAD for step in view.steps for action in step.actions
    )


def _standing(system: dict[str, Any], broker: str) -> Document:
    """What no execution changes at a broker: flows, gates, classes."""
    return Document(
        system="chaos",
        broker=broker,
        version="",
        flows={
            flow: FlowSpec(delivery=Delivery(f["delivery"]), ingress=f["ingress"] == broker)
            for flow, f in system["flows"].items()
        },
        gates={
            flow: Gate(rate_per_s=f["rate_per_s"], burst=f["burst"])
            for flow, f in system["flows"].items()
            if f["ingress"] == broker and f.get("rate_per_s")
        },
        classes={
            name: ClassSpec(flow=c["flow"], limit=c["limit"])
            for name, c in system["classes"].items()
            if c["broker"] == broker
        },
        neighbours={},
        orders=(),
    )


def _put_away(path: Path) -> Iterator[tuple[str, ExecutionView]]:
    """Those written whole; a kill may have cut the last one off."""
    if not path.exists():
        return
    with path.open("rb") as file:
        try:
            while True:
                yield pickle.load(file)
        except (EOFError, pickle.UnpicklingError):
            return


def _hash(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _shift(name: str, roles: dict[str, str]) -> ActionView:
    return ActionView(
        id=name,
        protocol=Protocol.TREE,
        kind="shift_link",
        state=ActionState.PENDING,
        participants=roles,
        title=f"shift {roles}",
    )
