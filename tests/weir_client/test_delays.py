"""Delays are counted in the bins that the rest of Weir merges, and handed over whole."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weir.queueing import wait_histogram
from weir_client import delays
from weir_client.delays import SENT_HEADER, DelayCounts, Delays, sent_now


def taken(counted: Delays) -> dict[str, Any]:
    report = counted.take()
    return dict(json.loads(report)) if report else {}


@example(2.0 ** (1 / 16))
@example(1.0)
@example(1e-9)
@example(1e6)
@given(st.floats(min_value=1e-9, max_value=1e6))
def test_a_delay_is_in_the_bin_that_holds_it_everywhere(delay_s: float) -> None:
    counts = DelayCounts()
    counts.count(delay_s)
    bin_ = wait_histogram.bin_of(delay_s)
    assert counts.take() == {"bins": [(bin_, 1)], "longest_s": delay_s}


def test_the_ends_of_the_bins_are_those_of_everywhere() -> None:
    assert (delays.LOWEST, delays.HIGHEST) == (wait_histogram.LOWEST, wait_histogram.HIGHEST)
    assert delays.STEPS == wait_histogram.STEPS
    counts = DelayCounts()
    for delay_s in (0.0, 1e-12, 1e7):
        counts.count(delay_s)
    assert counts.take()["bins"] == [(delays.LOWEST, 2), (delays.HIGHEST, 1)]
    assert counts.take() == {}


def test_a_message_is_counted_by_when_it_was_sent() -> None:
    now = [1000.5]
    counted = Delays(clock=lambda: now[0])
    assert counted.take() == b""
    counted.receive({SENT_HEADER: "1000.000000", "Other": "x"})
    counted.receive({SENT_HEADER: "1000.25"})
    assert taken(counted) == {
        "delivery": {"bins": [[-33, 1], [-17, 1]], "longest_s": 0.5},
    }
    # By its clock this one is not sent yet.
    counted.receive({SENT_HEADER: "1000.500001"})
    zero = {"bins": [[delays.LOWEST, 1]], "longest_s": 0.0}
    assert taken(counted) == {"delivery": zero, "skewed": 1}
    assert counted.take() == b""


@pytest.mark.parametrize(
    "headers",
    [None, {}, {"Sent": "1"}, *({SENT_HEADER: odd} for odd in ("", "x", "nan", "1e999", "-inf"))],
)
def test_what_does_not_say_when_it_was_sent_is_not_counted(headers: dict[str, str] | None) -> None:
    counted = Delays()
    counted.receive(headers)
    assert counted.take() == b""


def test_what_is_sent_now_arrives_now() -> None:
    counted = Delays()
    counted.receive({SENT_HEADER: sent_now()})
    (one,) = taken(counted)["delivery"]["bins"]
    assert one[1] == 1


@pytest.mark.asyncio
async def test_requests_are_counted_by_their_answers() -> None:
    counted = Delays()
    with counted.request():
        pass
    with pytest.raises(TimeoutError), counted.request():
        raise TimeoutError

    async def request() -> None:
        with counted.request():
            await asyncio.Event().wait()

    waiting = asyncio.create_task(request())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    report = taken(counted)
    assert sum(number for _, number in report["answer"]["bins"]) == 1
    assert report["unanswered"] == 2
    assert report["pauses"] == 2
    assert report.keys() == {"answer", "unanswered", "pauses", "paused_s"}


def test_pauses_are_the_times_between_requests_of_one_that_asks_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [10.0]
    monkeypatch.setattr("weir_client.delays.time.monotonic", lambda: now[0])
    counted = Delays()

    def ask(*, pause_s: float, answer_s: float) -> None:
        now[0] += pause_s
        with counted.request():
            now[0] += answer_s

    def give_up(*, after_s: float) -> None:
        with counted.request():
            now[0] += after_s
            raise TimeoutError

    # Nobody knows since when the first one had nothing to ask.
    ask(pause_s=100.0, answer_s=0.5)
    assert "pauses" not in taken(counted)
    ask(pause_s=2.0, answer_s=0.25)
    with pytest.raises(TimeoutError):
        give_up(after_s=5.0)
    ask(pause_s=1.0, answer_s=0.25)
    report = taken(counted)
    assert (report["pauses"], report["paused_s"]) == (3, 3.0)
    # A request that begins while another is under way has no pause; the next one has, from the
    # last end on.
    now[0] += 4.0
    with counted.request():
        now[0] += 1.0
        ask(pause_s=0.0, answer_s=1.0)
        now[0] += 1.0
    ask(pause_s=8.0, answer_s=0.0)
    report = taken(counted)
    assert (report["pauses"], report["paused_s"]) == (2, 12.0)
    assert counted.take() == b""
