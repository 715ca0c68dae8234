"""What consumers report is merged by class, bounded, and such that the control plane takes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import class_delays
from agent.class_delays import MOST_REPORT_BYTES, MOST_REPORTED, ClassDelays
from agent.drivers.base import ClassAdmission, Stats
from agent.telemetry import Counters, Meter
from apps.telemetry.domain.payload import MOST_DELAYED, telemetry_checked
from weir.queueing.wait_histogram import HIGHEST, LOWEST


def report(**members: Any) -> bytes:
    return json.dumps(members).encode()


def histogram(*bins: tuple[int, int], longest_s: float = 0.0) -> dict[str, Any]:
    return {"bins": bins, "longest_s": longest_s}


def test_reports_of_a_class_are_one_histogram() -> None:
    counted = ClassDelays()
    counted.add("gold", report(delivery=histogram((3, 2), (LOWEST, 5), longest_s=1.2)))
    counted.add("gold", report(delivery=histogram((3, 1), (7, 1), longest_s=1.3), skewed=4))
    counted.add("iron", report(answer=histogram((-20, 6), longest_s=0.4), unanswered=2, new=1))
    counted.add("iron", report(pauses=3, paused_s=2.5))
    counted.add("iron", report(pauses=1, paused_s=0.25))
    assert counted.take() == {
        "gold": {
            "delivery_delays": [(LOWEST, 5), (3, 3), (7, 1)],
            "delivery_longest_s": 1.3,
            "skewed": 4,
        },
        "iron": {
            "answer_delays": [(-20, 6)],
            "answer_longest_s": 0.4,
            "unanswered": 2,
            "pauses": 4,
            "paused_s": 2.75,
        },
    }
    assert counted.take() == {}


@pytest.mark.parametrize(
    "malformed",
    [
        b"",
        b"\xff",
        b"[]",
        report(delivery=3),
        report(delivery=histogram((HIGHEST + 1, 1))),
        report(delivery=histogram((LOWEST - 1, 1))),
        report(delivery=histogram((3, 0))),
        report(delivery=histogram((3, -1))),
        report(delivery=histogram((3, MOST_REPORTED), (4, 1))),
        report(delivery={"bins": [[3, 1.5]]}),
        report(delivery={"bins": [[3]]}),
        report(delivery=histogram((3, 1), longest_s=-1.0)),
        report(skewed=-1),
        report(unanswered=MOST_REPORTED + 1),
        report(pauses=MOST_REPORTED + 1),
        report(pauses=1, paused_s=-0.1),
        report(pauses=1, paused_s=2e13),
        b'{"pauses": 1, "paused_s": 1e999}',
        report(delivery=histogram((3, 1)), new="x" * MOST_REPORT_BYTES),
    ],
)
def test_a_malformed_report_is_refused_as_a_whole(malformed: bytes) -> None:
    counted = ClassDelays()
    counted.add("gold", malformed)
    assert counted.take() == {}


def test_whoever_reports_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert class_delays.MOST_COUNTED < MOST_DELAYED
    monkeypatch.setattr(class_delays, "MOST_COUNTED", 25)
    counted = ClassDelays()
    for name in ("gold", "iron", "gold", "iron"):
        counted.add(name, report(answer=histogram((3, 9)), unanswered=1))
    assert {name: row["unanswered"] for name, row in counted.take().items()} == {
        "gold": 1,
        "iron": 1,
    }
    counted.add("gold", report(skewed=25))
    assert counted.take() == {"gold": {"skewed": 25}}


BINS = st.lists(st.tuples(st.integers(-500, 340), st.integers(-1, 10**7 + 1)), max_size=9)
HISTOGRAMS = st.fixed_dictionaries({}, optional={"bins": BINS, "longest_s": st.floats()})


@given(
    st.lists(
        st.binary(max_size=40)
        | st.fixed_dictionaries(
            {},
            optional={
                "delivery": HISTOGRAMS,
                "answer": HISTOGRAMS,
                "skewed": st.integers(-1, 9),
                "unanswered": st.integers(-1, 9),
                "pauses": st.integers(-1, 9),
                "paused_s": st.floats(),
            },
        ).map(lambda plain: json.dumps(plain).encode())
    )
)
def test_whatever_clients_write_the_control_plane_takes_the_report(written: list[bytes]) -> None:
    counted = ClassDelays()
    for each in written:
        counted.add("gold", each)
    admitted = {"gold": ClassAdmission(limit=None, admitted=1, waiting=0)}
    stats = Stats(classes=admitted, class_delays=counted)
    sample = Meter(0.0).measure(1.0, Counters(), stats)
    assert telemetry_checked(json.loads(json.dumps(sample)))["classes"]["gold"]["admitted"] == 1


def test_delays_are_in_the_report_of_the_interval_alone() -> None:
    counted = ClassDelays()
    counted.add("gold", report(delivery=histogram((3, 2), longest_s=1.17)))
    counted.add("gone", report(delivery=histogram((3, 2), longest_s=1.17)))
    stats = Stats(
        classes={"gold": ClassAdmission(limit=None, admitted=1, waiting=0)}, class_delays=counted
    )
    meter = Meter(0.0)
    # Looks in between take nothing.
    meter.look(0.5, Counters(), stats)
    row = {"admitted": 1, "waiting": 0}
    delayed = {"delivery_delays": [(3, 2)], "delivery_longest_s": 1.17}
    assert meter.measure(1.0, Counters(), stats)["classes"] == {"gold": row | delayed}
    assert meter.measure(2.0, Counters(), stats)["classes"] == {"gold": row}
