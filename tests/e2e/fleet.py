"""The running demo fleet as these tests see it: over REST, and by asking the brokers themselves."""

import json
import random
import time
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from apps.demo.services import harbour
from config.stack import Stack
from config.stack.parts import brokers
from tests.e2e.api import Api

SYSTEM = "Harbour"
ACTIVE = ("pending", "running", "pausing", "paused", "stopping", "rolling_back")
# Not the seeded one: every test would draw the same, and three such moves may lead back.
CHANCE = random.SystemRandom()
WINDOW = 8  # measurements, a second each: at six messages a second one more or less is 2 %
TOLERANCE = 0.1
UNSETTLED = ("draft", "pending_review", "approved")
TOPIC = "cranes.rotterdam"
"""The topic of the demo that has a contract."""
ROOM = {"rot-1": 14.0, "ham-1": 14.0, "ant-1": 8.0}
"""What brokers take beside what others send there; the topic's publishers send 20 msg/s by the
model, which no broker takes alone."""
(ROTTERDAM_CPU,) = [row[4] for row in harbour.BROKERS if row[0] == "rot-1"]
(HAMBURG_LINK,) = [row[2] for row in harbour.LINKS if row[:2] == ("rot-1", "ham-1")]
"""What the demo gives a broker, in CPU units per second, and one of its links, in messages per
second."""
WIDE_PER_S = 400.0
"""The rate of a gate behind which nothing waits for long that the topic's publishers send."""
ROOMY = 100_000.0
"""The capacity of a broker or link that limits no allocation."""


class Fleet:
    """Harbour, its agents, and the people who decide about it."""

    def __init__(self, weir: Stack, address: str) -> None:
        self.weir = weir
        self.author = Api(address, "editor")
        self.approver = Api(address, "approver")
        self.operator = Api(address, "operator")
        self.everybody = Api(address, "demo")  # has all the roles
        self.system = self.everybody.system(SYSTEM)["id"]

    def close(self) -> None:
        for api in (self.author, self.approver, self.operator, self.everybody):
            api.client.close()

    # --- what is there

    def rows(self, path: str, **params: Any) -> list[Any]:
        results: list[Any] = self.everybody.get(
            f"/api/v1/{path}", system=self.system, page_size=500, **params
        )["results"]
        return results

    def wait_live(self, seconds: float = 60.0) -> None:
        """Until all six agents hold their lease."""
        self.everybody.wait(
            "/api/v1/agents",
            lambda page: [row["state"] for row in page["results"]] == ["live"] * len(brokers.NAMES),
            seconds,
            system=self.system,
        )

    def enforced(self) -> dict[str, Any]:
        """Broker -> gates, limits and links that its agent has really in force."""
        return {
            row["broker_name"]: {
                "gates": row["observed"]["gates"],
                "limits": row["observed"]["limits"],
                "links": row["observed"]["links"],
            }
            for row in self.rows("agents")
        }

    def edges(self) -> set[frozenset[str]]:
        """The overlay in force."""
        names = {row["id"]: row["name"] for row in self.rows("brokers")}
        (overlay,) = [row for row in self.rows("overlays") if row["in_force"]]
        return {frozenset((names[e["a"]], names[e["b"]])) for e in overlay["edges"]}

    def in_force(self) -> dict[str, Any]:
        """Everything that a rollback has to bring back."""
        return {"edges": self.edges(), "brokers": self.enforced()}

    def limits(self) -> dict[str, int]:
        """Class -> limit, over all brokers."""
        return {
            name: limit
            for state in self.enforced().values()
            for name, limit in state["limits"].items()
        }

    def connections(self) -> dict[str, list[str]]:
        """Broker -> names of its clients, as it says itself: the agents are not asked."""
        listed: dict[str, list[str]] = {}
        for name in brokers.NAMES:
            port = brokers.monitor_port_of(self.weir.site, name)
            url = f"http://127.0.0.1:{port}/connz?acc=CLIENTS&limit=4096"
            with urllib.request.urlopen(url, timeout=60) as answer:
                rows = json.load(answer)["connections"] or ()
                listed[name] = [row.get("name", "") for row in rows]
        return listed

    def connected(self) -> dict[str, int]:
        """Class -> consumers, counted by the brokers."""
        counts: dict[str, int] = {}
        for name in chain.from_iterable(self.connections().values()):
            consumer, mark, _ = name.rpartition("#")
            if mark:
                counts[consumer] = counts.get(consumer, 0) + 1
        return counts

    def wait_publishers(self, lists: Mapping[str, Collection[str]], seconds: float = 60.0) -> None:
        """Until each of these publishers has one connection, to the broker that lists it."""
        wanted = {broker: sorted(names) for broker, names in lists.items() if names}
        known = set(chain.from_iterable(wanted.values()))
        deadline = time.monotonic() + seconds
        while True:
            here = {b: sorted(known.intersection(n)) for b, n in self.connections().items()}
            if (here := {broker: names for broker, names in here.items() if names}) == wanted:
                return
            assert time.monotonic() < deadline, f"connected: {here}, wanted: {wanted}"
            time.sleep(0.3)

    def wait_admitted(self, seconds: float = 60.0) -> None:
        """Until the brokers hold exactly as many consumers of each class as its limit and its
        demand allow."""
        wanted = {row["name"]: row["population_max"] for row in self.rows("consumer-classes")}
        deadline = time.monotonic() + seconds
        while True:
            limits = self.limits()
            expected = {n: min(w, limits.get(n, w)) for n, w in wanted.items()}
            expected = {name: count for name, count in expected.items() if count}
            connected = self.connected()
            if connected == expected:
                return
            if time.monotonic() > deadline:
                names = connected.keys() | expected.keys()
                differ = {
                    n: (connected.get(n, 0), expected.get(n, 0))
                    for n in sorted(names)
                    if connected.get(n, 0) != expected.get(n, 0)
                }
                raise AssertionError(f"connected, expected after {seconds} s: {differ}")
            time.sleep(0.3)

    def measured(self) -> dict[str, tuple[float, float]]:
        """Flow -> rates offered and passed at its gate, over the last `WINDOW` measurements."""
        rates: dict[str, tuple[float, float]] = {}
        for broker in self.rows("brokers"):
            series = self.everybody.get("/api/v1/telemetry/series", broker=broker["id"], minutes=1)
            points = series["points"][-WINDOW:]
            seconds = sum(point["interval_s"] for point in points)
            for flow in points[-1]["flows"] if points else ():
                rows = [(p["interval_s"], p["flows"].get(flow)) for p in points]
                offered, passed = (
                    sum(s * row[name] for s, row in rows if row) / seconds
                    for name in ("offered_per_s", "passed_per_s")
                )
                rates[flow] = offered, passed
        return rates

    def flow_status(self) -> dict[str, Any]:
        """Flow -> what the control plane says of its rates."""
        answer = self.everybody.get("/api/v1/flow-status", system=self.system)
        return {row["flow"]: row for row in answer["flows"]}

    def gates(self) -> dict[str, float]:
        """Flow -> rate that its gate lets through, as its agent says."""
        return {
            flow: gate["rate_per_s"]
            for state in self.enforced().values()
            for flow, gate in state["gates"].items()
        }

    def wait_rates(self, seconds: float = 60.0) -> None:
        """Until every flow passes at the rate of its gate: all of them are offered more."""
        deadline = time.monotonic() + seconds
        while True:
            gates, measured = self.gates(), self.measured()
            far = {
                flow: (measured.get(flow), rate)
                for flow, rate in gates.items()
                if abs(measured.get(flow, (0.0, 0.0))[1] - rate) > TOLERANCE * rate + 1.0 / WINDOW
            }
            if gates and not far:
                return
            assert time.monotonic() < deadline, f"(offered, passed), gate: {far}"
            time.sleep(1.0)

    def parts(self) -> dict[str, Any]:
        """Return what agents observe of the topic's bucket, by broker."""
        return {
            row["broker_name"]: row["observed"]["buckets"][TOPIC]
            for row in self.rows("agents")
            if TOPIC in row["observed"]["buckets"]
        }

    def lists(self, plan: Any) -> dict[str, list[str]]:
        """Broker -> the publishers that it lets in once the plan has been carried out."""
        exported = self.everybody.get(f"/api/v1/plans/{plan['id']}/export")
        actions = [action for step in exported["plan"]["steps"] for action in step["actions"]]
        return {
            action["target"]["broker"]: action["after"]["publishers"]
            for action in actions
            if action["kind"] == "assign_publishers"
        }

    def backlog(self) -> float:
        """Messages of the topic that wait at its gate, as agents measured last."""
        waiting = 0.0
        for broker in self.rows("brokers"):
            series = self.everybody.get("/api/v1/telemetry/series", broker=broker["id"], minutes=1)
            for point in series["points"][-1:]:
                waiting += point["flows"].get(TOPIC, {}).get("backlog", 0.0)
        return waiting

    def wait_passed(self, seconds: float = 60.0) -> None:
        """Until nothing of the topic waits at its gate any more."""
        deadline = time.monotonic() + seconds
        while waiting := self.backlog():
            assert time.monotonic() < deadline, f"{waiting} messages of {TOPIC} wait"
            time.sleep(0.5)

    # --- what people do

    @contextmanager
    def changed(self, wanted: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[None]:
        """Edit objects of the model, by kind and name, for a while."""
        before = {}
        try:
            for (kind, name), values in wanted.items():
                (row,) = [row for row in self.rows(kind) if row["name"] == name]
                before[kind, name] = {member: row[member] for member in values}
                self.change(kind, name, **values)
            yield
        finally:
            for (kind, name), values in before.items():
                self.change(kind, name, **values)

    @contextmanager
    def wide_gate(self) -> Iterator[None]:
        """Let through all that the topic's publishers send, for a while.

        The gates of an allocation let less through than is sent, so that minutes of messages wait
        where another test has carried one out. A publisher is released once all of its messages
        have passed: the first step of a split would wait for longer than a test does.
        """
        if TOPIC not in self.gates():
            yield
            return
        wanted: dict[tuple[str, str], dict[str, Any]] = {
            ("topics", TOPIC): {"rate_max_per_s": WIDE_PER_S}
        }
        for row in self.rows("brokers"):
            roomy = [{"resource": one["resource"], "capacity": ROOMY} for one in row["capacities"]]
            wanted["brokers", row["name"]] = {"capacities": roomy}
        for row in self.rows("links"):
            wanted["links", row["name"]] = {"capacity": ROOMY}
        with self.changed(wanted):
            plan = self.plan(self.optimize())
            self.carry_out(plan)
            assert self.gates()[TOPIC] >= 0.9 * WIDE_PER_S
            self.wait_passed()
            yield
            self.carry_out(self.command(self.author, plan, "roll-back", {}, expect=201))

    @contextmanager
    def splittable(self, *, token_rate_per_s: float, token_bucket: float) -> Iterator[None]:
        """Give the topic this contract, publishers of equal rates and a wide gate, and room to
        three brokers, for a while."""
        publishers = self.rows("publishers")
        names = [row["name"] for row in publishers if row["topic_name"] == TOPIC]
        contract = {"token_rate_per_s": token_rate_per_s, "token_bucket": token_bucket}
        wanted: dict[tuple[str, str], dict[str, float | None]] = {
            ("topics", TOPIC): {**contract},
            **{("publishers", name): {"rate_per_s": round(20.0 / len(names), 3)} for name in names},
        }
        for broker, room in ROOM.items():
            here = [row for row in publishers if row["broker_name"] == broker]
            taken = sum(row["rate_per_s"] for row in here if row["topic_name"] != TOPIC)
            wanted["brokers", broker] = {"publish_rate_max_per_s": round(taken + room, 3)}
        for broker in ("fel-1", "leh-1", "bre-1"):
            wanted["brokers", broker] = {"publish_rate_max_per_s": None}
        with self.wide_gate(), self.changed(wanted):
            yield

    def carry_out(self, plan: Any) -> Any:
        """Send for review, approve and execute; returns the execution."""
        self.command(self.author, plan, "submit")
        execution = self.execute(self.approve(plan))
        self.wait_execution(execution, "succeeded")
        return execution

    def optimize(self) -> str:
        """A fresh allocation; its id."""
        run = self.everybody.wait(
            self.author.optimize(SYSTEM), lambda r: r["state"] not in ("queued", "running"), 60
        )
        assert run["state"] == "succeeded", run["failure"]
        return str(run["allocation"])

    def plan(self, allocation: str, who: Api | None = None) -> Any:
        """A draft by the author."""
        answer = (who or self.author).post(f"/api/v1/allocations/{allocation}/plan", {})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def some_plan(self) -> Any:
        """A draft that is there to be looked at."""
        drafts = self.rows("plans", state="draft")
        if drafts:
            return drafts[0]
        self.shake()
        return self.plan(self.optimize())

    def do(self, who: Api, path: str, body: Any = None, expect: int = 200) -> Any:
        answer = who.post(f"/api/v1/{path}", body)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def command(
        self, who: Api, plan: Any, command: str, body: Any = None, expect: int = 200
    ) -> Any:
        """Command a plan as it is now."""
        answer = who.command(f"/api/v1/plans/{plan['id']}", command, body)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def approve(self, plan: Any, who: Api | None = None) -> Any:
        body = {"comment": "Read it.", "content_hash": plan["content_hash"]}
        return self.command(who or self.approver, plan, "approve", body)

    def approved_plan(self) -> Any:
        """Optimized, planned, sent for review and approved."""
        plan = self.plan(self.optimize())
        self.command(self.author, plan, "submit")
        plan = self.approve(plan)
        assert plan["state"] == "approved"
        return plan

    def bring_model_into_force(self) -> None:
        """Topics and classes as the model has them: planned, approved and executed."""
        plan = self.do(self.author, "plans", {"system": self.system}, expect=201)
        self.command(self.author, plan, "submit")
        self.wait_execution(self.execute(self.approve(plan)), "succeeded")

    def execute(self, plan: Any) -> Any:
        return self.command(self.operator, plan, "execute", expect=202)

    def execution_of(self, plan: Any) -> Any:
        """The execution that somebody has just asked for in a browser."""
        listed = self.everybody.wait(
            "/api/v1/executions", lambda page: len(page["results"]) == 1, 30, plan=plan["id"]
        )
        return listed["results"][0]

    def wait_execution(self, execution: Any, *states: str, seconds: float = 60.0) -> Any:
        ended = self.everybody.wait(
            f"/api/v1/executions/{execution['id']}",
            lambda row: row["state"] in states or row["state"] not in ACTIVE,
            seconds,
        )
        assert ended["state"] in states, f"{ended['state']}: {ended['failure']}"
        return ended

    def policy(self, **values: Any) -> None:
        """Change the system's policy."""
        (policy,) = self.rows("policies")
        address = f"/api/v1/policies/{policy['id']}"
        tag = self.everybody.client.get(address).headers["ETag"]
        answer = self.everybody.client.patch(address, json=values, headers={"If-Match": tag})
        assert answer.status_code == 200, answer.text

    def change(self, kind: str, name: str, **values: Any) -> None:
        """Edit an object of the model."""
        (row,) = [row for row in self.rows(kind) if row["name"] == name]
        address = f"/api/v1/{kind}/{row['id']}"
        tag = self.everybody.client.get(address).headers["ETag"]
        answer = self.everybody.client.patch(address, json=values, headers={"If-Match": tag})
        assert answer.status_code == 200, answer.text

    def shake(self) -> None:
        """Move capacity from a broker to a link or back: another allocation is the best one, and
        some of it is lower, some higher than what was best before."""
        (row,) = [row for row in self.rows("brokers") if row["name"] == "rot-1"]
        (now,) = row["capacities"]
        before = (ROTTERDAM_CPU - now["capacity"]) / (0.4 * ROTTERDAM_CPU)
        share = (before + CHANCE.uniform(0.3, 0.7)) % 1.0
        self.set_capacities(
            cpu=ROTTERDAM_CPU * (1.0 - 0.4 * share), link=HAMBURG_LINK * (1.0 + 0.25 * share)
        )

    def set_capacities(self, *, cpu: float, link: float) -> None:
        """Of the broker rot-1 and of its link to ham-1."""
        capacities = [{"resource": "cpu", "capacity": round(cpu, 1)}]
        self.change("brokers", "rot-1", capacities=capacities)
        self.change("links", "rot-1.ham-1", capacity=round(link, 1))

    def tidy(self) -> None:
        """Leave nothing to the next test that would stand in its way."""
        for state in ACTIVE:
            for row in self.rows("executions", state=state):
                if "roll_back" in row.get("allowed_commands", ["roll_back"]):
                    self.operator.post(f"/api/v1/executions/{row['id']}/roll-back")
                self.wait_execution(row, "rolled_back", "succeeded", "failed", "stopped")
        for state in UNSETTLED:
            for row in self.rows("plans", state=state):
                why = {"reason": "test ended"}
                self.author.command(f"/api/v1/plans/{row['id']}", "discard", why)
        self.policy(
            approval_rules=[{"kind": "*", "min_brokers": 0, "min_share": 0, "approvals": 1}],
            pace_s=0,
            enactment_threshold=0,
        )
