"""Requesters, their pause and the time of an answer, as clients count them, against simulations."""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import numpy as np
import pytest

from agent.class_delays import ClassDelays
from agent.drivers.base import ClassAdmission, Stats
from agent.telemetry import Counters, Meter
from apps.accounts.domain.roles import Role
from apps.catalog.models import ConsumerClass, Pattern, UtilityFunction
from apps.pipeline.domain.request_loops import LoopMinute, request_loop
from apps.pipeline.services.sums import sums_add_waiting
from apps.records.models import SetAsideRow
from apps.records.services import measurements_take
from apps.systems.models import System
from apps.systems.services import entity_create
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Sample
from apps.topology.models import Broker
from tests.apps.pipeline.promises import BEGAN_S, receive
from tests.conftest import client_of
from tests.factories import (
    make_broker,
    make_class,
    make_system,
    make_topic,
    make_user,
    make_utility,
)
from weir.queueing.mva import closed_station
from weir.queueing.wait_histogram import LOWEST, bin_of
from weir_client.delays import Delays

MINUTES = 20
REPORT_S = 5.0
LATENCY = {"max_utility": 10.0, "threshold_s": 2.0, "senders": 20, "think_s": 1.0, "exec_s": 0.25}


@pytest.fixture
def system(db: None) -> System:
    system = make_system()
    topic = make_topic(system, pattern=Pattern.REQUEST_RESPONSE)
    entity_create(
        model=UtilityFunction,
        system=system,
        actor=None,
        values={"name": "answers", "kind": "latency", "parameters": LATENCY},
    )
    make_class(system, topic, make_broker(system, "b1"), "gold")
    return system


class Loop:
    """Requesters that ask in turn, a gate that lets one request in after the other, a station of
    servers behind it, first come first served; each requester counts with the client's library."""

    def __init__(
        self,
        *,
        senders: int,
        servers: int,
        think: Callable[[], float],
        serve: Callable[[], float],
        gap_s: float = 0.0,
    ) -> None:
        self.think, self.serve, self.gap_s = think, serve, gap_s
        self.counted = [Delays() for _ in range(senders)]
        self.waits: list[tuple[float, float]] = []
        """When a request passed the gate, and how long it had waited."""
        self.now_s = 0.0
        self._events = [(think(), sender, None) for sender in range(senders)]
        heapq.heapify(self._events)
        self._gate_s = 0.0
        self._free_s = [0.0] * servers

    def run(self, until_s: float) -> None:
        """Let everybody ask until then, by the clock that the library reads."""
        with mock.patch("weir_client.delays.time.monotonic", self._clock):
            while self._events[0][0] <= until_s:
                self.now_s, sender, under_way = heapq.heappop(self._events)
                if under_way is None:
                    request = self.counted[sender].request()
                    request.__enter__()
                    heapq.heappush(self._events, (self._answered_s(), sender, request))
                else:
                    under_way.__exit__(None, None, None)
                    heapq.heappush(self._events, (self.now_s + self.think(), sender, None))

    def _clock(self) -> float:
        return self.now_s

    def _answered_s(self) -> float:
        passed_s = max(self.now_s, self._gate_s)
        self._gate_s = passed_s + self.gap_s
        self.waits.append((passed_s, passed_s - self.now_s))
        answered_s = max(passed_s, heapq.heappop(self._free_s)) + self.serve()
        heapq.heappush(self._free_s, answered_s)
        return answered_s


def measure(system: System, loop: Loop, minutes: int = MINUTES) -> None:
    """Let a loop run, and its figures take their way: library, agent, samples, records, sums."""
    broker = Broker.objects.get(system=system)
    counted, meter = ClassDelays(), Meter(0.0)
    classes = {"gold": ClassAdmission(limit=None, admitted=1, waiting=0)}
    stats = Stats(classes=classes, class_delays=counted)
    at_s = 0.0
    while at_s < 60 * minutes:
        loop.waits.clear()
        at_s += REPORT_S
        loop.run(at_s)
        for requester in loop.counted:
            if report := requester.take():
                counted.add("gold", report)
        plain = meter.measure(at_s, Counters(), stats)
        bins = Counter(LOWEST if wait <= 1e-9 else bin_of(wait) for _, wait in loop.waits)
        plain["flows"] = {"t1": {"gate_delays": sorted(bins.items())}}
        # Of the interval before: what is sampled at a moment counts from then on.
        at = datetime.fromtimestamp(BEGAN_S + at_s - 0.5, UTC)
        Sample.objects.create(
            broker=broker, at=at, payload=telemetry_checked(json.loads(json.dumps(plain)))
        )
        if at_s % 60 == 0:
            now = datetime.fromtimestamp(BEGAN_S + at_s + 15, UTC)
            assert measurements_take(now) == 1
    assert [(row.problem, bytes(row.content)) for row in SetAsideRow.objects.all()[:3]] == []
    assert sums_add_waiting(1000) > 0


def ask(system: System, **query: Any) -> dict[str, Any]:
    api = client_of(make_user("vera", Role.VIEWER))
    ends = [datetime.fromtimestamp(at_s, UTC).isoformat() for at_s in (BEGAN_S, BEGAN_S + 3600)]
    time = dict(zip(("since", "until"), ends, strict=True))
    answer = api.get("/api/v1/request-loops", {"system": str(system.public_id), **time, **query})
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def measured(system: System) -> dict[str, Any]:
    (row,) = ask(system)["rows"]
    return dict(row)


@pytest.mark.parametrize("seed", range(2))
def test_a_closed_station_is_found_with_its_requesters_and_pauses(
    system: System, seed: int
) -> None:
    chance = np.random.default_rng([seed, 7])
    station = closed_station(senders=20, think_s=1.0, exec_s=0.25, servers=4)
    loop = Loop(
        senders=20,
        servers=4,
        think=lambda: float(chance.exponential(1.0)),
        serve=lambda: float(chance.exponential(0.25)),
    )
    measure(system, loop)
    row = measured(system)
    assert (row["minutes"], row["why"], row["exec_why"]) == (MINUTES, "", "")
    assert row["is_gate_measured"]
    # Some 16,000 requests: means are within 3 %, with room.
    assert row["answers_per_s"] == pytest.approx(station.throughput_per_s, rel=0.03)
    assert row["senders"]["median"] == pytest.approx(20, rel=0.02)
    assert row["think_s"]["median"] == pytest.approx(1.0, rel=0.03)
    assert row["exec_s"]["median"] == pytest.approx(station.response_s, rel=0.04)
    assert row["response_s"] == row["exec_s"]
    for name in ("senders", "think_s", "exec_s"):
        interval = row[name]
        assert interval["low"] <= interval["median"] <= interval["high"]
        assert interval["minutes"] == MINUTES
    assert (row["typed_senders"], row["typed_think_s"], row["typed_exec_s"]) == (20, 1.0, 0.25)
    assert (row["consumer_class_name"], row["topic_name"]) == ("gold", "t1")


def test_what_requests_wait_at_the_gate_is_no_time_of_an_answer(system: System) -> None:
    chance = np.random.default_rng(3)
    # 6 requesters of pauses as people make them, behind a gate of 9 a second, which is nearly full.
    loop = Loop(
        senders=6,
        servers=6,
        think=lambda: float(chance.uniform(0.1, 0.5)),
        serve=lambda: 0.3,
        gap_s=1 / 9,
    )
    measure(system, loop)
    row = measured(system)
    assert row["senders"]["median"] == pytest.approx(6, rel=0.03)
    assert row["think_s"]["median"] == pytest.approx(0.3, rel=0.03)
    assert row["response_s"]["median"] > 1.1 * 0.3
    # Both means are out of bins, which are 4.4 % wide.
    assert row["exec_s"]["median"] == pytest.approx(0.3, rel=0.05)


def test_where_the_gate_is_all_one_waits_for_the_time_of_an_answer_is_unknown(
    system: System,
) -> None:
    chance = np.random.default_rng(4)
    loop = Loop(
        senders=30,
        servers=30,
        think=lambda: float(chance.exponential(0.2)),
        serve=lambda: 0.01,
        gap_s=1 / 5,
    )
    measure(system, loop, 4)
    row = measured(system)
    # Nobody has asked long enough for all to be in the loop's rhythm, and yet.
    assert row["senders"]["median"] == pytest.approx(30, rel=0.05)
    assert row["exec_s"] is None
    assert row["exec_why"] == (
        "In 4 of 4 minutes requests waited at the gate for most of their time: what is left is not"
        " known well enough."
    )


def test_requesters_with_several_requests_under_way_are_no_loop(system: System) -> None:
    chance = np.random.default_rng(5)
    loop = Loop(
        senders=8,
        servers=8,
        think=lambda: float(chance.exponential(0.2)),
        serve=lambda: 0.2,
    )
    # Two who ask share what counts for one.
    loop.counted = [each for each in loop.counted[:4] for _ in range(2)]
    measure(system, loop, 4)
    row = measured(system)
    assert row["senders"] is None
    assert row["think_s"] is None
    assert "do not ask in turn" in row["why"]
    assert row["exec_s"]["median"] == pytest.approx(0.2, rel=0.03)


def minute(**figures: Any) -> LoopMinute:
    usual: dict[str, Any] = {
        "answers": 60.0,
        "response_s": 0.5,
        "unanswered": 0.0,
        "pauses": 60.0,
        "paused_s": 90.0,
        "gate_s": None,
    }
    return LoopMinute(**{**usual, **figures})


@pytest.mark.parametrize(
    ("minutes", "why", "exec_why"),
    [
        ([], "No client of this class counts its requests.", "No client of"),
        ([minute()] * 2, "Fewer than 3 minutes have 10 answers", "Fewer than 3"),
        ([minute(answers=9.0)] * 9, "Fewer than 3 minutes have 10 answers", "Fewer than 3"),
        ([minute(unanswered=7.0)] * 9, "In 9 of 9 minutes more than 10 % of the", "In 9 of 9"),
        ([minute(answers=0.0, unanswered=200.0)] * 9, "None of 1,800 requests was", "None of"),
        (
            [minute(answers=0.0, unanswered=200.0)] * 8 + [minute()],
            "In 8 of 9 minutes more than 10 % of the",
            "In 8 of 9",
        ),
        ([minute(pauses=0.0, paused_s=0.0)] * 9, "Clients count answers, but no pauses", ""),
        # Minutes of an older version of the library, or of a moment without a pause.
        ([minute()] * 4 + [minute(pauses=0.0, paused_s=0.0)] * 9, "", ""),
        ([minute(pauses=90.0, paused_s=135.0)] * 9, "", ""),
        ([minute(pauses=30.0)] * 9, "50 % of the requests begin while another", ""),
        ([minute()] * 9, "", ""),
    ],
)
def test_what_cannot_be_told_says_why(minutes: list[LoopMinute], why: str, exec_why: str) -> None:
    loop = request_loop(minutes)
    assert loop.why.startswith(why)
    assert bool(loop.why) == bool(why)
    assert (loop.senders is None) == (loop.think_s is None) == bool(why)
    assert loop.exec_why.startswith(exec_why)
    assert (loop.exec_s is None) == bool(exec_why)
    if not why:
        # 1 request a second in a loop of 0.5 s and 1.5 s.
        assert loop.senders is not None
        assert loop.senders.median == pytest.approx(2.0)
        assert not loop.is_gate_measured


def test_waits_at_the_gate_are_taken_off_where_they_are_known() -> None:
    mixed = [minute()] * 30 + [minute(gate_s=0.2)] * 5
    loop = request_loop(mixed)
    assert loop.exec_s is not None
    assert (loop.exec_s.median, loop.exec_s.minutes) == (pytest.approx(0.3), 5)
    assert loop.is_gate_measured
    assert not request_loop(mixed[:32]).is_gate_measured


def test_requests_without_an_answer_are_asked_too() -> None:
    loop = request_loop([minute(answers=54.0, unanswered=6.0)] * 3)
    assert loop.senders is not None
    assert loop.senders.median == pytest.approx(2.0)
    assert loop.answers_per_s == pytest.approx(0.9)


def test_minutes_of_another_kind_widen_the_interval_alone() -> None:
    loop = request_loop([minute(gate_s=0.01 * at, paused_s=60.0 + at) for at in range(20)])
    assert loop.think_s is not None
    assert loop.exec_s is not None
    assert loop.think_s.low == pytest.approx(62 / 60)
    assert loop.think_s.median == pytest.approx(69.5 / 60)
    assert loop.think_s.high == pytest.approx(77 / 60)
    assert loop.exec_s.high == pytest.approx(0.48)


def test_records_of_others_are_read_alike(system: System) -> None:
    """Requests that came as records have answers; pauses may come as samples."""
    by_minute: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for at in range(4 * 60):
        row = {"at_s": BEGAN_S + at, "topic": "t1", "consumer_class": "gold", "subscriber": "s"}
        by_minute[at // 60].append({**row, "delay_s": None if at % 20 == 0 else 0.5})
    receive(system, "requests", [row for rows in by_minute.values() for row in rows])
    place = {"topic": "t1", "consumer_class": "gold", "broker": "b1"}
    samples = [
        {**place, "at_s": BEGAN_S + 60 * at + 9, "metric": metric, "value": value}
        for at in range(4)
        for metric, value in (("pauses", 60.0), ("paused_s", 30.0))
    ]
    receive(system, "samples", samples)
    assert sums_add_waiting(10) == 2
    row = measured(system)
    assert row["minutes"] == 4
    assert row["answers_per_s"] == pytest.approx(0.95)
    assert row["think_s"]["median"] == pytest.approx(0.5)
    assert row["senders"]["median"] == pytest.approx(1.0, rel=0.03)
    assert row["exec_s"]["median"] == pytest.approx(0.5, rel=0.03)
    assert not row["is_gate_measured"]


def test_what_nobody_can_have_counted_is_no_figure(system: System) -> None:
    """Negative counts are none; whoever sends requests and counts them counts them once."""
    requests = [
        {
            "at_s": BEGAN_S + at,
            "topic": "t1",
            "consumer_class": "gold",
            "subscriber": "s",
            "delay_s": None if at % 20 == 0 else 0.5,
        }
        for at in range(5 * 60)
    ]
    receive(system, "requests", requests)
    place = {"topic": "t1", "consumer_class": "gold", "broker": "b1"}
    unanswered = (-100.0, -57.0, 3.0, 3.0, 0.0)
    samples = [
        {**place, "at_s": BEGAN_S + 60 * at + 9, "metric": metric, "value": value}
        for at, lost in enumerate(unanswered)
        for metric, value in (("pauses", 60.0), ("paused_s", 30.0), ("unanswered", lost))
    ]
    lost = [
        {**place, "at_s": BEGAN_S + 60 * at + 9, "metric": "unanswered", "value": 7.0}
        for at in (6, 7)
    ]
    receive(system, "samples", samples + lost)
    assert sums_add_waiting(10) == 2
    row = measured(system)
    assert row["minutes"] == 7
    assert row["senders"]["minutes"] == 5
    assert row["senders"]["low"] == pytest.approx(1.0, rel=0.03)
    assert row["senders"]["high"] == pytest.approx(1.0, rel=0.03)


def test_classes_are_those_that_ask_or_those_of_a_function(system: System) -> None:
    usual = make_utility(system, "usual")
    broker = Broker.objects.get(system=system)
    plain = make_topic(system, "t2")
    for name in ("iron", "silver"):
        make_class(system, plain, broker, name)
    ConsumerClass.objects.filter(name="iron").update(utility=usual)
    api = client_of(make_user("vera", Role.VIEWER))

    def ask(**query: Any) -> Any:
        return api.get("/api/v1/request-loops", {"system": str(system.public_id), **query})

    names = [row["consumer_class_name"] for row in ask().json()["rows"]]
    assert names == ["gold", "silver"]
    (iron,) = ask(utility=str(usual.public_id)).json()["rows"]
    assert iron["consumer_class_name"] == "iron"
    assert iron["typed_senders"] is None
    assert iron["answers_per_s"] is None
    foreign = make_utility(make_system("other"), "theirs")
    refused = ask(utility=str(foreign.public_id))
    assert refused.status_code == 400
    assert "utility" in json.dumps(refused.json())
