"""Parts of a promise: what counts as kept, what as missed, and what says nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.plans.domain.parts import (
    Carried,
    DelayMinutes,
    DelayObjective,
    Kept,
    Quantity,
    Series,
    judge_carried,
    judge_consumers,
    judge_delay,
    judge_load,
    judge_rate,
    judge_wait,
    part_of,
)
from apps.plans.domain.verdicts import Judged, Verdict, cannot_be_told, judge_whole

SWIFT = DelayObjective(slo=1, name="swift", topic="tides", which="p99", target_s=0.5)


def steady(mean: float, spread: float = 0.0) -> Series:
    return Series(blocks=tuple(mean + spread * (1 if i % 2 else -1) for i in range(10)))


@pytest.mark.parametrize(
    ("limit", "offered", "passed", "kept", "because"),
    [
        (40.0, 30.0, 30.0, Kept.KEPT, "30 msg/s came; all of it passed."),
        (40.0, 55.0, 40.0, Kept.KEPT, "55 msg/s came; the limit passed."),
        (None, 55.0, 55.0, Kept.KEPT, "55 msg/s came; all of it passed."),
        (40.0, 55.0, 45.0, Kept.MISSED, "5 msg/s more than the limit passed"),
        (40.0, 55.0, 20.0, Kept.MISSED, "20 msg/s less passed than came and may pass"),
        (None, 55.0, 20.0, Kept.MISSED, "35 msg/s less passed"),
        (0.0, 55.0, 0.0, Kept.KEPT, "55 msg/s came; the limit passed."),
        (0.0, 0.0, 0.0, Kept.KEPT, "Nothing came."),
    ],
)
def test_a_rate_passes_what_comes_as_far_as_its_limit(
    limit: float | None, offered: float, passed: float, kept: Kept, because: str
) -> None:
    part = judge_rate(
        "tides",
        "a",
        limit,
        window_s=300.0,
        passed_before=steady(10.0),
        offered=steady(offered),
        passed=steady(passed),
        shed=steady(0.0),
    )
    assert part.kept is kept
    assert part.because.startswith(because)
    assert part_of(part.plain()) == part


@given(
    st.lists(st.floats(0, 1000), min_size=6, max_size=10),
    st.one_of(st.none(), st.floats(0, 1000)),
)
def test_a_gate_that_acts_as_it_should_is_kept_whatever_comes(
    offered: list[float], limit: float | None
) -> None:
    """Rates that rise and fall around a limit pass less than the smaller of the two means."""
    passed = [min(block, limit) if limit is not None else block for block in offered]
    part = judge_rate(
        "tides",
        "a",
        limit,
        window_s=300.0,
        passed_before=steady(10.0),
        offered=Series(blocks=offered),
        passed=Series(blocks=passed),
        shed=Series(blocks=[came - went for came, went in zip(offered, passed, strict=True)]),
    )
    assert part.kept is Kept.KEPT


@pytest.mark.parametrize(
    ("passed_before", "offered", "passed"),
    [
        # Traffic that varied before excuses no closed gate, and a gate that flaps not itself.
        (tuple(10.0 * i for i in range(10)), 50.0, [0.0] * 10),
        ((0.0, 100.0) * 5, 100.0, [100.0] * 10),
        ((), 100.0, [0.0, 60.0] * 5),
    ],
)
def test_what_varies_excuses_no_gate(
    passed_before: tuple[float, ...], offered: float, passed: list[float]
) -> None:
    part = judge_rate(
        "tides",
        "a",
        50.0,
        window_s=300.0,
        passed_before=Series(blocks=passed_before),
        offered=steady(offered),
        passed=Series(blocks=passed),
        shed=steady(0.0),
    )
    assert part.kept is Kept.MISSED


@pytest.mark.parametrize(
    ("passed", "shed", "controlled", "kept", "because"),
    [
        (20.0, 30.0, 20.0, Kept.MISSED, "rate control holds the gate at 20 msg/s"),
        (0.0, 50.0, 20.0, Kept.MISSED, "the gate drops bursts"),
        (20.0, 0.0, None, Kept.MISSED, "the others wait at the gate"),
        (20.0, 30.0, None, Kept.MISSED, "the gate drops bursts larger than its bucket"),
        (50.0, 0.0, 60.0, Kept.UNKNOWN, "Rate control lets 60 msg/s pass in its place."),
    ],
)
def test_why_a_gate_did_otherwise(
    passed: float, shed: float, controlled: float | None, kept: Kept, because: str
) -> None:
    part = judge_rate(
        "tides",
        "a",
        40.0,
        window_s=300.0,
        controlled=controlled,
        passed_before=steady(10.0),
        offered=steady(50.0),
        passed=steady(passed),
        shed=steady(shed),
    )
    assert part.kept is kept
    assert because in part.because


def test_a_handful_of_messages_is_not_counted_to_the_last() -> None:
    """Ten messages more than thirty in five minutes are chance and a burst; at 100 msg/s they are
    too many."""
    few, many = (
        judge_rate(
            "tides",
            "a",
            limit,
            window_s=300.0,
            passed_before=steady(0.0),
            offered=steady(9 * limit),
            passed=steady(1.33 * limit),
            shed=steady(0.0),
        ).kept
        for limit in (0.1, 100.0)
    )
    assert (few, many) == (Kept.KEPT, Kept.MISSED)


@pytest.mark.parametrize(
    ("limit", "admitted", "waiting", "kept", "because"),
    [
        (5, 5.0, 0.0, Kept.KEPT, "All who came were admitted."),
        (5, 3.0, 0.0, Kept.KEPT, "All who came were admitted."),
        (5, 5.0, 4.0, Kept.KEPT, "As many as the limit allows; 4 waited."),
        (0, 0.0, 4.0, Kept.KEPT, "As many as the limit allows; 4 waited."),
        (5, 7.0, 0.0, Kept.MISSED, "2 more than the limit were connected"),
        (5, 3.0, 4.0, Kept.MISSED, "2 waited on average although there was room"),
        (None, 3.0, 4.0, Kept.MISSED, "4 waited on average although"),
        (None, 3.0, 0.0, Kept.KEPT, "All who came were admitted."),
    ],
)
def test_a_limit_admits_who_comes_as_far_as_it_allows(
    limit: int | None, admitted: float, waiting: float, kept: Kept, because: str
) -> None:
    part = judge_consumers(
        "gulls",
        "c",
        limit,
        admitted_before=steady(admitted),
        admitted=steady(admitted),
        waiting=steady(waiting),
    )
    assert (part.kept, part.promised) == (kept, limit)
    assert part.because.startswith(because)


@pytest.mark.parametrize(
    ("share", "kept"),
    [(0.6, Kept.KEPT), (0.83, Kept.KEPT), (0.85, Kept.MISSED), (0.9, Kept.MISSED)],
)
def test_a_place_carries_no_more_than_the_limits_allow(share: float, kept: Kept) -> None:
    part = judge_load("c", 0.8, before=steady(1.3, spread=0.5), after=steady(share))
    assert (part.kept, part.unit) == (kept, "of capacity")
    assert f"carries {100 * share:.1f} % of its capacity; the limits allow 80.0 %" in part.because


@pytest.mark.parametrize(
    ("before", "after", "kept", "because"),
    [
        ([0.1] * 5, [0.2] * 5, Kept.KEPT, "The objective held in 5 of 5 minutes."),
        ([0.1] * 5, [0.9] * 5, Kept.MISSED, "held in 0 of 5 minutes; before, in 5 of 5."),
        ([], [0.9] * 5, Kept.MISSED, "held in 0 of 5 minutes; before, nothing was judged."),
        ([0.1] * 5, [0.1, 0.1, 0.9, 0.1, 0.1], Kept.UNKNOWN, "too few were missed to say more."),
        ([0.1] * 5, [0.1, 0.1, 0.9, 0.9], Kept.MISSED, "held in 2 of 4 minutes"),
        # However short the others are.
        ([0.1] * 5, [0.6, 0.6, 0.6, 0.001], Kept.MISSED, "held in 1 of 4 minutes"),
        # The plan found it so, and made it no worse.
        ([0.9] * 5, [0.8] * 5, Kept.UNKNOWN, "before, it was missed as often."),
        ([0.9, 0.1, 0.1, 0.1], [0.9, 0.9, 0.1, 0.1], Kept.MISSED, "before, in 3 of 4."),
        ([0.1] * 5, [0.2, 0.2], Kept.UNKNOWN, "is known of 2 minutes after it ended; 3 are"),
        ([0.1] * 5, [], Kept.UNKNOWN, "is known of 0 minutes"),
    ],
)
def test_a_delay_keeps_its_objective_or_was_missed_before(
    before: list[float], after: list[float], kept: Kept, because: str
) -> None:
    part = judge_delay(SWIFT, DelayMinutes(before_s=before, after_s=after))
    assert part.kept is kept
    assert because in part.because
    assert part.label == "delay (p99, swift) of tides"


def test_an_objective_that_was_edited_says_nothing() -> None:
    part = judge_delay(SWIFT, None)
    assert (part.kept, part.after) == (Kept.UNKNOWN, None)
    assert part.because == "The objective was edited or deleted meanwhile."


def carried(amount: float, came: float = 100.0, spread: float = 0.0) -> Carried:
    """Blocks of so much, a little uneven, for so many messages."""
    return Carried(amounts=steady(amount, spread).blocks, came=steady(came).blocks)


@pytest.mark.parametrize(
    ("before", "after", "promised", "kept"),
    [
        # 3 for each message, of which half was promised.
        (carried(300.0), carried(150.0), 150.0, Kept.KEPT),
        (carried(300.0), carried(163.0), 150.0, Kept.KEPT),
        (carried(300.0), carried(170.0), 150.0, Kept.MISSED),
        (carried(300.0), carried(330.0), 150.0, Kept.MISSED),
        # Traffic that doubles is no broken promise, and traffic that halves keeps none.
        (carried(300.0), carried(300.0, came=200.0), 300.0, Kept.KEPT),
        (carried(300.0), carried(150.0, came=50.0), 75.0, Kept.MISSED),
        # What varies by itself by a fifth.
        (carried(300.0, spread=30.0), carried(190.0), 150.0, Kept.KEPT),
        # A fall within what it varies by is none.
        (carried(300.0, spread=65.0), carried(300.0), 150.0, Kept.MISSED),
        (carried(300.0, spread=65.0), carried(200.0), 150.0, Kept.MISSED),
        (carried(300.0, spread=65.0), carried(150.0), 150.0, Kept.KEPT),
        # Blocks in which next to nothing comes while links empty what waited.
        (
            carried(300.0),
            Carried(amounts=[150.0] * 8 + [5.0, 3.0], came=[100.0] * 8 + [0.1, 0.0]),
            120.0,
            Kept.KEPT,
        ),
    ],
)
def test_what_is_carried_changes_as_promised_for_each_message(
    before: Carried, after: Carried, promised: float, kept: Kept
) -> None:
    part = judge_carried(Quantity.TRAFFIC, (4000.0, 2000.0), before, after)
    assert part.kept is kept
    assert part.promised == pytest.approx(promised, rel=1e-2)
    assert (part.before, part.after) == (before.mean, after.mean)
    assert "before; 1.5 was promised" in part.because
    assert part.label == "traffic of links"
    assert part_of(part.plain()) == part


@pytest.mark.parametrize(
    ("promised", "after", "kept", "because"),
    [
        # Smaller than what it varies by: only a rise can be told.
        ((100.0, 95.0), carried(300.0), Kept.UNKNOWN, "less of a change than it varies by"),
        ((100.0, 95.0), carried(400.0), Kept.MISSED, "receivers filter with 4 work"),
        # A rise that was promised is no more than that.
        ((100.0, 150.0), carried(440.0), Kept.KEPT, "4.5 was promised"),
        ((100.0, 150.0), carried(600.0), Kept.MISSED, "4.5 was promised"),
        ((0.0, 150.0), carried(300.0), Kept.UNKNOWN, "Nothing was filtered when the plan was"),
        ((100.0, 50.0), Carried(), Kept.UNKNOWN, "Too little was measured, or came, after it"),
        ((100.0, 50.0), carried(300.0, came=0.0), Kept.UNKNOWN, "or came, after it ended."),
        ((100.0, 50.0), Carried(because="No map is."), Kept.UNKNOWN, "No map is."),
    ],
)
def test_a_change_that_cannot_be_told_says_why(
    promised: tuple[float, float], after: Carried, kept: Kept, because: str
) -> None:
    before = carried(300.0, spread=30.0)
    part = judge_carried(Quantity.FILTERING, promised, before, after)
    assert part.kept is kept
    assert because in part.because


def test_what_was_measured_otherwise_is_not_compared() -> None:
    promised, before = (100.0, 50.0), replace(carried(300.0), brokers=["a", "b"], basis="x")
    after = carried(150.0)
    silent = judge_carried(Quantity.TRAFFIC, promised, before, replace(after, brokers=["a"]))
    assert (silent.kept, silent.because) == (
        Kept.UNKNOWN,
        "b measured only on one side of the execution.",
    )
    edited = replace(after, brokers=["a", "b"], basis="y")
    part = judge_carried(Quantity.FILTERING, promised, before, edited)
    assert (part.kept, "were edited meanwhile" in part.because) == (Kept.UNKNOWN, True)
    nothing = judge_carried(Quantity.FILTERING, promised, carried(0.0), after)
    assert nothing.kept is Kept.UNKNOWN
    assert nothing.because.startswith("Nothing was filtered before it began")


@pytest.mark.parametrize(
    ("wait_s", "kept"), [(0.01, Kept.KEPT), (0.0209, Kept.KEPT), (0.022, Kept.MISSED)]
)
def test_messages_wait_no_longer_than_was_promised(wait_s: float, kept: Kept) -> None:
    part = judge_wait("tides", 0.02, before=steady(0.5), after=steady(wait_s))
    assert part.kept is kept
    assert part.label == "wait (p99 at its bucket) of tides"
    assert "20 ms was promised of wait and processing" in part.because
    unknown = judge_wait("tides", 0.02, before=steady(0.5), after=Series(blocks=(0.1,)))
    assert (unknown.kept, unknown.after) == (Kept.UNKNOWN, None)


def test_what_was_not_measured_says_nothing() -> None:
    few = Series(blocks=(1.0, 1.0))
    rate = judge_rate(
        "tides", "a", 40.0, window_s=300.0, passed_before=few, offered=few, passed=few, shed=few
    )
    consumers = judge_consumers("gulls", "c", 5, admitted_before=few, admitted=few, waiting=few)
    load = judge_load("c", 0.8, before=few, after=few)
    assert [part.kept for part in (rate, consumers, load)] == [Kept.UNKNOWN] * 3
    assert [part.after for part in (rate, consumers, load)] == [None] * 3


ROSE = Verdict(judged=Judged.HELPED, because="It rose.")
FELL = Verdict(judged=Judged.MISSED, because="It fell.")
UNKNOWN = cannot_be_told("too little was measured")


@pytest.mark.parametrize(
    ("utility", "kept", "missed", "unknown", "judged", "because"),
    [
        (ROSE, "", "", "", Judged.HELPED, "It rose."),
        (ROSE, "a", "", "", Judged.HELPED, "It rose. 1 of 1 part of the promise kept."),
        (ROSE, "a", "b", "", Judged.PARTLY, "It rose. 1 of 2 parts of the promise missed: b."),
        (ROSE, "", "abc", "", Judged.PARTLY, "It rose. 3 of 3 parts of the promise missed: a, b,"),
        (FELL, "a", "", "", Judged.MISSED, "It fell. 1 of 1 part of the promise kept."),
        (UNKNOWN, "a", "", "b", Judged.KEPT, "1 of 2 parts of the promise kept; of 1 nothing is"),
        (UNKNOWN, "a", "", "bc", Judged.UNKNOWN, "1 of 3 parts of the promise kept; of 2 nothing"),
        (UNKNOWN, "a", "b", "cd", Judged.PARTLY, "1 of 4 parts of the promise missed: b; of 2 no"),
        (UNKNOWN, "", "bcde", "", Judged.MISSED, "4 of 4 parts of the promise missed: b, c, d and"),
        (UNKNOWN, "", "", "a", Judged.UNKNOWN, "0 of 1 part of the promise kept; of 1 nothing is"),
        (UNKNOWN, "", "", "", Judged.UNKNOWN, "Cannot be told, because too little was measured."),
    ],
)
def test_the_whole_is_the_utility_and_the_parts(
    utility: Verdict, kept: str, missed: str, unknown: str, judged: Judged, because: str
) -> None:
    whole = judge_whole(utility, list(kept), list(missed), list(unknown))
    assert whole.judged is judged
    assert whole.because.startswith(because)


def test_without_a_utility_the_sentence_says_why() -> None:
    whole = judge_whole(UNKNOWN, ["a"], [], [])
    assert whole.because == (
        "1 of 1 part of the promise kept. The utility is not judged: too little was measured."
    )
