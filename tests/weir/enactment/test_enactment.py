"""Enactment with judgement on problems small enough to work out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from weir.codec import problem_from_dict
from weir.enactment import POPULATION, RATE, Judgement, Note, Past, Reason, Values, judge
from weir.model import Problem


def line(capacity: float = 1000.0, **weights: float) -> Problem:
    """Flows over one broker: each message costs 1 unit per consumer, ten consumers each want in."""
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "n", "capacity": {"cpu": capacity}}],
            "links": [],
            "flows": [
                {"id": f, "rate_min": 0, "rate_max": 1000, "node_costs": {}, "link_costs": {}}
                for f in weights
            ],
            "classes": [
                {
                    "id": f"c-{f}",
                    "flow": f,
                    "node": "n",
                    "population_max": 10,
                    "costs": {"cpu": 1.0},
                    "utility": {"kind": "linear", "weight": weight},
                }
                for f, weight in weights.items()
            ],
        }
    )


def values(rates: dict[str, float], count: int = 1) -> Values:
    return Values(rates=rates, populations={f"c-{f}": count for f in rates})


def reasons(verdict: Any) -> dict[str, Reason]:
    return {row.change.id: row.reason for row in verdict.left_out}


def kept(verdict: Any) -> set[str]:
    return {row.change.id for row in verdict.kept}


def test_zeros_keep_everything():
    verdict = judge(
        line(a=1, b=1),
        in_force=values({"a": 100, "b": 100}),
        proposal=values({"a": 100.01, "b": 1}),
        policy=Judgement(),
    )
    assert kept(verdict) == {"a", "b"}
    assert verdict.left_out == ()


@pytest.mark.parametrize(
    ("wanted", "moves"), [(104.9, False), (105.1, True), (95.3, False), (95.2, True)]
)
def test_the_band_is_the_same_ratio_up_and_down(wanted, moves):
    past = {(RATE, "a"): Past()}
    verdict = judge(
        line(capacity=104.0 if wanted < 100 else 1e6, a=1, b=1),
        in_force=values({"a": 100, "b": 1}),
        # b's rise needs what a gives up, where a falls.
        proposal=values({"a": wanted, "b": 100 + 4.0 - wanted if wanted < 100 else 1}),
        policy=Judgement(band=0.05),
        past=past,
    )
    assert ("a" in kept(verdict)) == moves
    if not moves:
        assert reasons(verdict)["a"] == Reason.BAND


def test_turning_around_takes_the_band_twice():
    def ask(wanted: float, direction: int) -> Any:
        return judge(
            line(capacity=1e6, a=1),
            in_force=values({"a": 100}),
            proposal=values({"a": wanted}),
            policy=Judgement(band=0.05),
            past={(RATE, "a"): Past(age_s=1e9, direction=direction)},
        )

    assert kept(ask(108.0, +1)) == {"a"}
    (left,) = ask(108.0, -1).left_out
    assert left.reason == Reason.REVERSAL
    assert (left.moved, left.needed) == (pytest.approx(0.08), pytest.approx(0.1025))
    assert kept(ask(110.3, -1)) == {"a"}


def test_a_recent_change_stays_until_its_time_is_over():
    def ask(age_s: float) -> Any:
        return judge(
            line(capacity=1e6, a=1),
            in_force=values({"a": 100}),
            proposal=values({"a": 200}),
            policy=Judgement(dwell_s=60),
            past={(RATE, "a"): Past(age_s=age_s, direction=1)},
        )

    assert reasons(ask(59.9)) == {"a": Reason.DWELL}
    assert kept(ask(60.0)) == {"a"}


def test_a_broken_capacity_overrules_band_and_dwell_where_it_loses_least():
    verdict = judge(
        line(capacity=150, dear=5, cheap=1),
        in_force=values({"dear": 100, "cheap": 100}),
        proposal=values({"dear": 50, "cheap": 50}),
        policy=Judgement(band=2.0, dwell_s=3600),
        past={(RATE, name): Past(age_s=1.0) for name in ("dear", "cheap")},
    )
    (row,) = verdict.kept
    assert (row.change.id, row.after, row.note) == ("cheap", 50, Note.FORCED)
    assert reasons(verdict) == {"dear": Reason.BAND}


def test_a_rate_outside_the_models_bounds_moves_whatever_it_costs():
    verdict = judge(
        line(capacity=1e6, a=1),
        in_force=values({"a": 2000}),
        proposal=values({"a": 1000}),
        policy=Judgement(charge_per_rate_change=1e9, dwell_s=100),
        past={(RATE, "a"): Past(age_s=0.0)},
    )
    assert verdict.values.rates == {"a": 1000}
    assert verdict.kept[0].note is Note.FORCED


def test_moving_consumers_for_less_than_it_costs_is_left_out():
    def ask(charge: float) -> Any:
        return judge(
            line(capacity=1e6, a=1),
            in_force=values({"a": 10}, count=4),
            proposal=values({"a": 10}, count=7),
            policy=Judgement(charge_per_consumer=charge),
        )

    # Each of the three is worth 10.
    assert kept(ask(9.9)) == {"c-a"}
    (left,) = ask(10.1).left_out
    assert (left.reason, left.gain, left.charge) == (Reason.CHARGE, 30, pytest.approx(30.3))


def test_a_fall_goes_with_the_rise_that_needs_it_or_not_at_all():
    def ask(charge: float) -> Any:
        return judge(
            line(capacity=200, rich=3, poor=1),
            in_force=values({"rich": 100, "poor": 100}),
            proposal=values({"rich": 150, "poor": 50}),
            policy=Judgement(charge_per_rate_change=charge),
        )

    # The rise gains 150, the fall loses 50; together they move 1/3 and 1/2 of a rate.
    together = ask(119.0)
    assert kept(together) == {"rich", "poor"}
    assert together.net_gain == pytest.approx(100 - 119 * (1 / 3 + 1 / 2))
    apart = ask(121.0)
    assert kept(apart) == set()
    assert reasons(apart) == {"rich": Reason.ROOM, "poor": Reason.NO_NEED}


def test_a_rise_goes_as_far_as_there_is_room_beside_what_stays():
    verdict = judge(
        line(capacity=210, rich=3, poor=1),
        in_force=values({"rich": 100, "poor": 100}),
        proposal=values({"rich": 112, "poor": 98}),
        policy=Judgement(band=0.05),
    )
    (row,) = verdict.kept
    assert (row.change.id, row.note) == ("rich", Note.CUT)
    assert row.after == pytest.approx(110)
    assert reasons(verdict) == {"rich": Reason.BAND, "poor": Reason.BAND}


def test_prices_of_the_proposal_find_what_belongs_together():
    names = [f"f{i}" for i in range(40)]
    problem = line(capacity=4000, **{name: 2.0 if i % 2 else 1.0 for i, name in enumerate(names)})
    verdict = judge(
        problem,
        in_force=values(dict.fromkeys(names, 100.0)),
        proposal=values({name: 150.0 if i % 2 else 50.0 for i, name in enumerate(names)}),
        policy=Judgement(charge_per_rate_change=1.0),
        prices={("n", "cpu"): 1.5},
    )
    assert len(verdict.kept) == 40
    assert verdict.net_gain == pytest.approx(1000 - 20 * (1 / 3 + 1 / 2))


def test_a_policy_holds_no_negative_number():
    with pytest.raises(ValueError, match="band"):
        Judgement(band=-0.1)
    with pytest.raises(ValueError, match="dwell_s"):
        Judgement(dwell_s=float("inf"))


def test_population_changes_are_judged_like_rates():
    verdict = judge(
        line(capacity=1e6, a=1),
        in_force=values({"a": 10}, count=8),
        proposal=values({"a": 10}, count=9),
        policy=Judgement(band=0.2),
    )
    assert reasons(verdict) == {"c-a": Reason.BAND}
    assert verdict.left_out[0].change.kind == POPULATION
