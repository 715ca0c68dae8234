"""Every kind of utility: the contract of the folder, concavity, derivatives, batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.kernel_strategies import by_kind
from weir.errors import InvalidProblem
from weir.plugins import describe, discover
from weir.utility import kinds, utility_from_dict, utility_to_dict

RATES = np.array([0.0, 0.01, 0.5, 1.0, 3.0, 10.0, 33.0, 99.0, 100.0, 250.0, 640.0, 1e3, 1e5])
KINDS = sorted(kinds())
some = settings(max_examples=60, deadline=None)


def test_folder_holds_the_kinds_of_the_format() -> None:
    assert KINDS == ["latency", "linear", "log", "piecewise", "power"]


@pytest.mark.parametrize("kind", KINDS)
def test_file_name_is_registered_name(kind: str) -> None:
    cls = kinds()[kind]
    assert kind == cls.KIND
    assert cls.__module__ == f"weir.utility.{kind}"
    assert set(discover("weir.utility")) == set(KINDS)
    assert cls.TITLE
    assert cls.SUMMARY


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_described_with_help(kind: str) -> None:
    for parameter in describe(kinds()[kind]):
        assert set(parameter) >= {
            "name",
            "type",
            "default",
            "unit",
            "minimum",
            "maximum",
            "help",
            "required",
        }
        assert parameter["help"]
        assert parameter["type"] in ("number", "integer", "points")


@pytest.mark.parametrize("kind", KINDS)
def test_tests_cover_every_kind(kind: str) -> None:
    assert kind in by_kind


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_is_increasing_and_concave(kind: str, data: st.DataObject) -> None:
    utility = utility_from_dict(data.draw(by_kind[kind]))
    a, b = sorted(data.draw(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4))))
    low, middle, high = (float(utility.value(rate)) for rate in (a, (a + b) / 2, b))
    room = 1e-9 * max(1.0, abs(low), abs(high))
    assert low <= high + room
    assert middle >= (low + high) / 2 - room
    assert float(utility.derivative(b)) <= float(utility.derivative(a)) * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_derivative_is_the_slope(kind: str, data: st.DataObject) -> None:
    utility = utility_from_dict(data.draw(by_kind[kind]))
    rate = data.draw(st.floats(0.01, 1e4))
    width = 1e-6 * rate
    ahead, here = float(utility.value(rate + width)), float(utility.value(rate))
    left, right = float(utility.derivative(rate)), float(utility.derivative(rate + width))
    room = 1e-9 * max(abs(here), abs(ahead), 1.0) / width + 1e-9
    assert right - room <= (ahead - here) / width <= left + room  # a kink may lie between


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_batch_agrees_with_single_functions(kind: str, data: st.DataObject) -> None:
    cls = kinds()[kind]
    plain = data.draw(st.lists(by_kind[kind], min_size=1, max_size=6))
    members = [utility_from_dict(entry) for entry in plain]
    batch = cls.batch(members)
    for rate in RATES:
        rates = np.full(len(members), rate)
        values = [float(member.value(rate)) for member in members]
        slopes = [float(member.derivative(rate)) for member in members]
        np.testing.assert_allclose(batch.value(rates), values, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(batch.derivative(rates), slopes, rtol=1e-12)
    for member in members:
        np.testing.assert_allclose(
            member.value(RATES), [float(member.value(rate)) for rate in RATES], rtol=1e-12
        )


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_value_is_scale_times_shape(kind: str, data: st.DataObject) -> None:
    utility = utility_from_dict(data.draw(by_kind[kind]))
    np.testing.assert_allclose(
        utility.value(RATES), utility.scale * utility.shape.value(RATES), rtol=1e-9, atol=1e-9
    )
    assert utility.shape.scale == 1.0
    assert hash(utility.shape) == hash(utility.shape.shape)


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_rate_at_balances_gain_and_price(kind: str, data: st.DataObject) -> None:
    utility = utility_from_dict(data.draw(by_kind[kind]))
    price = data.draw(st.floats(1e-3, 100))
    rate = float(utility.batch([utility]).rate_at(np.array([price]))[0])
    assert rate >= 0
    if rate > 1e-6:
        below = min(rate * (1 - 1e-6), 1e12)
        assert float(utility.derivative(below)) >= price * (1 - 1e-4)
    if rate < 1e12:
        assert float(utility.derivative(rate * (1 + 1e-6) + 1e-9)) <= price * (1 + 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@some
@given(data=st.data())
def test_round_trip(kind: str, data: st.DataObject) -> None:
    utility = utility_from_dict(data.draw(by_kind[kind]))
    assert utility_from_dict(utility_to_dict(utility)) == utility


def test_values_of_the_format_table() -> None:
    values: list[tuple[dict[str, Any], float, float]] = [
        ({"kind": "log", "weight": 20}, math.e - 1, 20.0),
        ({"kind": "power", "weight": 3, "exponent": 0.5}, 16, 12.0),
        ({"kind": "linear", "weight": 3}, 16, 48.0),
        ({"kind": "piecewise", "points": [[0, 0], [10, 20], [30, 30]]}, 5, 10.0),
        ({"kind": "piecewise", "points": [[0, 0], [10, 20], [30, 30]]}, 20, 25.0),
        ({"kind": "piecewise", "points": [[0, 0], [10, 20], [30, 30]]}, 99, 30.0),
        ({"kind": "piecewise", "points": [[4, 8], [10, 20]]}, 1, 2.0),
        ({"kind": "piecewise", "points": [[4, 8]]}, 1, 8.0),
    ]
    for entry, rate, value in values:
        assert float(utility_from_dict(entry).value(rate)) == pytest.approx(value)


def test_latency_reproduces_the_papers_example() -> None:
    utility = utility_from_dict(
        {
            "kind": "latency",
            "max_utility": 6000,
            "threshold_s": 0.5,
            "senders": 20,
            "think_s": 0.1,
            "exec_s": 0.008,
        }
    )
    knots = utility.knots  # type: ignore[attr-defined]
    assert [rate for rate, _ in knots] == pytest.approx([33.3333, 125.0, 203.7037], abs=1e-4)
    assert [value for _, value in knots] == pytest.approx([0.0, 5253.69, 5904.0], abs=0.01)
    assert float(utility.value(1e6)) == pytest.approx(5904.0)
    assert float(utility.value(10)) < 0


def test_latency_with_many_senders_is_quick_and_concave() -> None:
    utility = utility_from_dict(
        {
            "kind": "latency",
            "max_utility": 1,
            "threshold_s": 2,
            "senders": 100_000,
            "think_s": 0.01,
            "exec_s": 1.0,
        }
    )
    slopes = utility.derivative(np.linspace(1, 2e5, 500))
    assert np.all(np.diff(slopes) <= 1e-15)


@pytest.mark.parametrize(
    ("entry", "path", "words"),
    [
        ({"weight": 1}, "u", 'missing key "kind"'),
        ({"kind": "cubic", "weight": 1}, "u.kind", 'no utility kind "cubic"'),
        ({"kind": ["log"]}, "u.kind", "no utility kind"),
        ([], "u", "must be an object"),
        ({"kind": "log"}, "u", 'missing key "weight"'),
        ({"kind": "log", "weight": 1, "wieght": 2}, "u", 'unknown key "wieght"'),
        ({"kind": "log", "weight": -1}, "u.weight", "at least 0"),
        ({"kind": "log", "weight": True}, "u.weight", "must be a number, not true"),
        ({"kind": "log", "weight": "7"}, "u.weight", 'must be a number, not "7"'),
        ({"kind": "log", "weight": None}, "u.weight", "must be a number, not null"),
        ({"kind": "log", "weight": math.nan}, "u.weight", "must be finite"),
        ({"kind": "log", "weight": math.inf}, "u.weight", "must be finite"),
        ({"kind": "log", "weight": 10**400}, "u.weight", "larger unit"),
        ({"kind": "power", "weight": 1, "exponent": 1}, "u.exponent", "below 1"),
        ({"kind": "power", "weight": 1, "exponent": 0}, "u.exponent", "above 0"),
        ({"kind": "piecewise", "points": []}, "u.points", "is empty; give at least one"),
        ({"kind": "piecewise", "points": {"0": 1}}, "u.points", "must be a list"),
        ({"kind": "piecewise", "points": [[0, 0], [1]]}, "u.points[1]", "[rate, utility]"),
        ({"kind": "piecewise", "points": [[0, 0], [0, 1]]}, "u.points[1][0]", "must increase"),
        ({"kind": "piecewise", "points": [[5, 0], [1, 1]]}, "u.points[1][0]", "must increase"),
        ({"kind": "piecewise", "points": [[0, 1], [1, 0]]}, "u.points[1][1]", "not decrease"),
        ({"kind": "piecewise", "points": [[0, 0], [1, 1], [2, 3]]}, "u.points[2]", "concave"),
        ({"kind": "piecewise", "points": [[-1, 0]]}, "u.points[0][0]", "at least 0"),
        ({"kind": "piecewise", "points": [[0, math.nan]]}, "u.points[0][1]", "finite"),
        (
            {
                "kind": "latency",
                "max_utility": 1,
                "threshold_s": 0.1,
                "senders": 2,
                "think_s": 0,
                "exec_s": 0.1,
            },
            "u.exec_s",
            "reaches the threshold",
        ),
        (
            {
                "kind": "latency",
                "max_utility": 1,
                "threshold_s": 0.1,
                "senders": 2.5,
                "think_s": 0,
                "exec_s": 0.01,
            },
            "u.senders",
            "whole number",
        ),
    ],
)
def test_refuses_bad_parameters_by_name(entry: Any, path: str, words: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        utility_from_dict(entry, "u")
    assert caught.value.path == path
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
