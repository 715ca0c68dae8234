"""A control plane in memory behind HTTP: measurements' `/test/*`, agents' `/agent/v1/*`.

    python -m benchmarks.fleet.control --port PORT --system FILE

The coordinator and the documents' types are those of production. A process of its own, so that
its work is not that of whoever measures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from weir.coordination.coordinator import Limits, decide
from weir.coordination.decisions import (
    AbortAction,
    CommitAction,
    Decision,
    FinishAction,
    PrepareAction,
    SettleAction,
    applied,
)
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

LEASE_S, POLL_S, TICK_S = 3.0, 5.0, 0.1
LIMITS = Limits(prepare_timeout_s=2.5, max_attempts=20)


@dataclass(slots=True)
class Agent:
    """What is known of one broker's agent."""

    address: str = ""
    key: str = ""
    incarnation: int = 0
    lease_until: float = 0.0
    observed: dict[str, Any] = field(default_factory=dict)


class Control:
    """Agents, overlay and executions, one change at a time."""

    def __init__(self, system: dict[str, Any]) -> None:
        self._changed = threading.Condition()
        self._standing: dict[str, tuple[Document, str]] = {}
        self._system = system
        self._edges = {frozenset(edge) for edge in system["edges"]}
        self._agents = {name: Agent() for name in system["brokers"]}
        self._executions: dict[str, ExecutionView] = {}
        self._over: dict[str, ExecutionView] = {}
        """Executions of which nothing more comes."""
        self._pauses_s: list[float] = []
        """Of every participant that switched."""
        self._aborts: list[tuple[float, float, str]] = []
        """(seconds from the attempt's begin to the abort, to its end, why)."""
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        """Action -> when its last attempt was prepared, and when it was done."""

    # --- agents

    def session(self, broker: str, address: str, key: str) -> dict[str, Any]:
        with self._changed:
            agent = self._agents[broker]
            agent.incarnation += 1
            agent.address, agent.key = address, key
            agent.lease_until = time.time() + LEASE_S
            self._changed.notify_all()
            return {
                "system": "measured",
                "broker": broker,
                "incarnation": agent.incarnation,
                "lease_s": LEASE_S,
                "poll_s": POLL_S,
            }

    def fenced(self, broker: str, incarnation: int) -> bool:
        return self._agents[broker].incarnation != incarnation

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
        if broker not in self._standing:
            standing = _standing(self._system, broker)
            self._standing[broker] = standing, _hash(to_dict(standing))
        standing, standing_version = self._standing[broker]
        addresses = {name: a.address for name, a in self._agents.items() if a.address}
        keys = {name: agent.key for name, agent in self._agents.items()}
        document = replace(
            standing,
            neighbours={
                # Also where nobody has come yet: what is for it has to wait.
                other: Neighbour(address=addresses.get(other, ""), key=keys.get(other, ""))
                for edge in self._edges
                if broker in edge
                for other in edge - {broker}
            },
            orders=tuple(
                order
                for view in self._executions.values()
                for step in view.steps
                for action in step.actions
                if (order := orders_of(action, addresses, keys).get(broker)) is not None
            ),
        )
        changing = to_dict(replace(document, flows={}, gates={}, classes={}))
        return replace(document, version=_hash([standing_version, changing]))

    def report(self, broker: str, body: dict[str, Any]) -> None:
        with self._changed:
            agent = self._agents[broker]
            agent.lease_until = time.time() + LEASE_S
            agent.observed = body.get("observed") or agent.observed
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
        for name, view in self._executions.items():
            self._executions[name] = replace(
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
            if name not in self._executions and name not in self._over:
                self._executions[name] = ExecutionView(
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
            if any(view.state in ACTIVE for view in self._executions.values()):
                self._advance()

    def _advance(self) -> None:
        now = time.time()
        live = frozenset(n for n, a in self._agents.items() if a.lease_until > now)
        changed = False
        for name, view in list(self._executions.items()):
            view = replace(view, live=live)
            for decision in decide(view, now, LIMITS):
                self._effect(view, decision, now)
                view = applied(view, decision, now)
                changed = True
            if _under_way(view):
                self._executions[name] = view
            else:
                self._over[name] = view
                del self._executions[name]
        if changed:
            self._changed.notify_all()

    def _effect(self, view: ExecutionView, decision: Decision, now: float) -> None:
        actions = {a.id: a for step in view.steps for a in step.actions}
        match decision:
            case PrepareAction(action=action):
                self._began[action] = now
            case AbortAction(action=action):
                self._aborts.append((now - self._began[action], 0.0, decision.reason))
            case SettleAction(action=action):
                took, _, why = self._aborts[-1]
                self._aborts[-1] = (took, now - self._began[action], why)
            case CommitAction(action=action):
                peers = actions[action].participants
                i, j, k = peers["i"], peers["j"], peers["k"]
                assert frozenset({i, j}) in self._edges
                self._edges -= {frozenset({i, j})}
                self._edges |= {frozenset({i, k})}
            case FinishAction(action=action):
                self._ended[action] = now
                self._pauses_s += [
                    report.pause_s
                    for reports in actions[action].reports.values()
                    for report in reports
                    if report.phase == "switched" and report.pause_s is not None
                ]

    def shown(self, execution: str = "") -> dict[str, Any]:
        """Everything; of the executions only one, if it is named."""
        with self._changed:
            now = time.time()
            return {
                "edges": sorted(sorted(edge) for edge in self._edges),
                "agents": {
                    name: {"live": a.lease_until > now, "observed": a.observed}
                    for name, a in self._agents.items()
                },
                "executions": {
                    name: {
                        "state": view.state,
                        "times": [
                            {
                                "brokers": sorted(a.participants.values()),
                                "attempts": a.attempt,
                                "began": self._began.get(a.id),
                                "ended": self._ended.get(a.id),
                            }
                            for s in view.steps
                            for a in s.actions
                        ],
                    }
                    for name, view in (self._over | self._executions).items()
                    if name == (execution or name)
                },
                "pauses_s": self._pauses_s,
                "aborts": self._aborts,
            }


def _with(said: tuple[Report, ...], report: Report) -> tuple[Report, ...]:
    return said if report in said else (*said, report)


def _under_way(view: ExecutionView) -> bool:
    return view.state in ACTIVE or any(
        action.state is ActionState.DEAD for step in view.steps for action in step.actions
    )


def _standing(system: dict[str, Any], broker: str) -> Document:
    """What no execution changes at a broker: flows, gates, classes."""
    return Document(
        system="measured",
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


def _handler(control: Control) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Answers in one packet, at once: pauses of shifts are measured through them.
        wbufsize = -1
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self, code: int, body: Any = None) -> None:
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        @property
        def _broker(self) -> str:
            return self.headers["Authorization"].removeprefix("Bearer ")

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            if parts.path == "/test/state":
                self._answer(200, control.shown(query.get("execution", "")))
                return
            if control.fenced(self._broker, int(query["incarnation"])):
                self._answer(409, {"code": "fenced", "detail": "a newer agent acts"})
                return
            document = control.document(self._broker, query.get("seen", ""))
            if document is None:
                self._answer(204)
            else:
                self._answer(200, to_dict(document))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/test/plan":
                control.plan(body["name"], body["steps"])
                self._answer(200, {})
            elif self.path == "/agent/v1/session":
                session = control.session(self._broker, body["address"], body["key"])
                self._answer(200, session)
            elif control.fenced(self._broker, body["incarnation"]):
                self._answer(409, {"code": "fenced", "detail": "a newer agent acts"})
            else:
                control.report(self._broker, body)
                self._answer(200, {"lease_s": LEASE_S})

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever hung up has hung up."""


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--system", type=Path, required=True)
    options = parser.parse_args()
    control = Control(json.loads(options.system.read_text()))
    server = _Server(("127.0.0.1", options.port), _handler(control))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while True:
        time.sleep(TICK_S)
        control.tick()


if __name__ == "__main__":
    main()
