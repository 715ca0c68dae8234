"""Error budgets and burn rates by counts of minutes."""

from dataclasses import replace
from fractions import Fraction

import pytest

from apps.pipeline.domain.error_budget import (
    ALERTS,
    Counted,
    Severity,
    Standing,
    compliance,
    minutes_of,
    stretches,
    window_minutes,
)

MONTH_S = 30 * 86_400
MONTH = MONTH_S // 60


def counted(measured: int = MONTH, missed: int = 0, **missed_in: int) -> Counted:
    """What was counted of a month; `of_60=3`: three missed ones of the last 60 minutes."""
    by_stretch = dict.fromkeys(stretches(MONTH_S), 0)
    by_stretch |= {int(name.removeprefix("of_")): count for name, count in missed_in.items()}
    return Counted(measured=measured, missed=missed, too_few=0, missed_in=by_stretch)


@pytest.mark.parametrize(
    ("spent", "stretch_s", "burn"), [(0.02, 3600, 14.4), (0.05, 21_600, 6.0), (0.1, 259_200, 1.0)]
)
def test_alerts_are_those_of_the_workbook(spent: float, stretch_s: int, burn: float) -> None:
    # A stretch that spends this share of the budget of 30 days burns at this rate.
    assert spent * MONTH_S / stretch_s == pytest.approx(burn)
    assert (burn, stretch_s) in [(alert.burn, alert.long_s) for alert in ALERTS]
    (alert,) = [alert for alert in ALERTS if alert.long_s == stretch_s]
    assert alert.short_s * 12 == alert.long_s


def test_a_burn_rate_of_one_spends_the_budget_in_one_window() -> None:
    objective = 0.999
    missed = 432  # 0.1 of a stretch of three days
    held = compliance(
        counted(missed=missed, of_4320=missed, of_360=36), objective=0.9, window_s=MONTH_S
    )
    ticket = held.burns[2]
    assert ticket.long_burn == pytest.approx(1.0)
    assert ticket.short_burn == pytest.approx(1.0)
    assert held.budget_minutes == pytest.approx(4320)
    assert held.budget_left == pytest.approx(0.9)
    tight = compliance(counted(missed=missed), objective=objective, window_s=MONTH_S)
    assert tight.budget_minutes == pytest.approx(43.2)
    assert tight.budget_left == pytest.approx(1 - 10)


def test_both_stretches_must_burn() -> None:
    def standing(**missed_in: int) -> Standing:
        missed = max(missed_in.values())
        return compliance(
            counted(missed=missed, **missed_in), objective=0.99, window_s=MONTH_S
        ).standing

    assert standing(of_60=9, of_5=1) is Standing.PAGE
    assert standing(of_60=9, of_5=0) is Standing.HOLDS  # it is over
    assert standing(of_60=8, of_5=5) is Standing.HOLDS  # 13.3: it does not matter yet
    assert standing(of_360=22, of_30=2) is Standing.PAGE
    assert standing(of_360=21, of_30=30) is Standing.HOLDS
    assert standing(of_4320=44, of_360=4) is Standing.TICKET
    assert standing(of_4320=43, of_360=4) is Standing.HOLDS


def test_the_gravest_is_how_it_stands() -> None:
    both = counted(missed=500, of_60=60, of_5=5, of_4320=500, of_360=100)
    assert compliance(both, objective=0.99, window_s=MONTH_S).standing is Standing.PAGE
    spent = counted(missed=432, of_4320=400, of_360=100)
    assert compliance(spent, objective=0.99, window_s=MONTH_S).standing is Standing.SPENT
    left = replace(spent, missed=431)
    assert compliance(left, objective=0.99, window_s=MONTH_S).standing is Standing.TICKET


@pytest.mark.parametrize(
    ("objective", "budget_minutes"),
    [(0.99, 432.0), (0.999, 43.2), (0.9999, 4.32), (0.95, 2160.0), (0.7, 12_960.0)],
)
def test_figures_are_those_of_the_objective_as_it_was_typed(
    objective: float, budget_minutes: float
) -> None:
    held = compliance(
        counted(measured=1000, missed=108, of_60=12, of_5=1),
        objective=objective,
        window_s=MONTH_S,
    )
    assert held.budget_minutes == budget_minutes
    assert held.share_held == 0.892
    assert held.budget_left == float(1 - Fraction(108) / Fraction(str(budget_minutes)))
    exact = Fraction(1, 5) / (1 - Fraction(str(objective)))
    assert (held.burns[0].long_burn, held.burns[0].short_burn) == (float(exact), float(exact))


def test_a_rate_of_exactly_the_threshold_fires_no_alert() -> None:
    sixfold = counted(missed=216, of_360=216, of_30=30)
    held = compliance(sixfold, objective=0.9, window_s=MONTH_S)
    assert held.burns[1].long_burn == 6.0
    assert not held.burns[1].fires
    faster = counted(missed=217, of_360=217, of_30=30)
    assert compliance(faster, objective=0.9, window_s=MONTH_S).burns[1].fires


def test_an_empty_window_has_no_budget() -> None:
    empty = compliance(counted(measured=0), objective=0.99, window_s=MONTH_S)
    assert empty.standing is Standing.NOT_MEASURED
    assert empty.share_held is None
    assert empty.budget_left is None


def test_minutes_that_nobody_measured_are_not_missed() -> None:
    # Two minutes of which both were missed: half the minutes of a short stretch, few of a long one.
    held = compliance(
        counted(measured=2, missed=2, of_60=2, of_5=2), objective=0.99, window_s=MONTH_S
    )
    assert held.standing is Standing.HOLDS
    assert held.share_held == 0.0
    assert held.budget_left == pytest.approx(1 - 2 / 432)


def test_a_large_budget_says_that_it_cannot_burn_that_fast() -> None:
    burns = compliance(counted(), objective=0.9, window_s=MONTH_S).burns
    assert [burn.can_fire for burn in burns] == [False, True, True]
    everything = {f"of_{minutes}": minutes for minutes in stretches(MONTH_S)}
    worst = compliance(counted(missed=MONTH, **everything), objective=0.9, window_s=MONTH_S)
    assert [burn.fires for burn in worst.burns] == [False, True, True]


@pytest.mark.parametrize("window_s", [1, 59, 60, 3600, 86_400, 7 * 86_400, MONTH_S, 90 * 86_400])
def test_stretches_are_scaled_to_the_window(window_s: int) -> None:
    for alert in ALERTS:
        long, short = minutes_of(alert.long_s, window_s), minutes_of(alert.short_s, window_s)
        assert 1 <= short <= long <= window_minutes(window_s)
        exact = alert.long_s * window_s / MONTH_S / 60
        assert long == 1 or abs(long - exact) <= 0.5
        assert {long, short} <= set(stretches(window_s))
    assert {alert.severity for alert in ALERTS} == set(Severity)
