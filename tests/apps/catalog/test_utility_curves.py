"""The drawing that the utility editor asks for on every key stroke."""

import math
from itertools import pairwise

import pytest

from tests.apps.catalog.test_utility import EXAMPLES

pytestmark = pytest.mark.django_db
PAPER = {
    "max_utility": 6000,
    "threshold_s": 0.5,
    "senders": 20,
    "think_s": 0.1,
    "exec_s": 0.008,
}


def drawn(api, kind, parameters, **more):
    body = {"kind": kind, "parameters": parameters, **more}
    return api.post("/api/v1/utility-curves", body, format="json")


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_every_kind_is_drawn_between_the_rates_asked_for(api, kind):
    answer = drawn(api, kind, EXAMPLES[kind], rate_min=0, rate_max=100, samples=11)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    rates = [point["rate_per_s"] for point in body["points"]]
    assert rates[0] == 0
    assert rates[-1] == 100
    assert set(range(0, 101, 10)) <= set(rates)
    assert rates == sorted(set(rates))
    assert body["concave"]
    assert body["problems"] == []
    slopes = [point["marginal_utility"] for point in body["points"]]
    known = [math.inf if slope is None else slope for slope in slopes]
    assert known == sorted(known, reverse=True)
    assert (slopes[0] is None) == (kind == "power")


def test_latency_target_is_drawn_as_rate_latency_utility(api):
    body = drawn(api, "latency", PAPER, rate_min=0, rate_max=250, samples=26).json()
    assert body["derived"]["rate_min_per_s"] == pytest.approx(33.3333, abs=1e-3)
    assert body["derived"]["rate_max_per_s"] == pytest.approx(203.7037, abs=1e-3)
    knots = [(k["rate_per_s"], k["utility"], k["latency_s"]) for k in body["knots"]]
    expected = [(33.333, 0.0, 0.5), (125.0, 5253.69, 0.062193), (203.704, 5904.0, 0.008)]
    for knot, right in zip(knots, expected, strict=True):
        assert knot == pytest.approx(right, rel=1e-4, abs=1e-6)
    at = {round(point["rate_per_s"], 3): point for point in body["points"]}
    assert at[0.0]["latency_s"] is None
    assert at[10.0]["latency_s"] == pytest.approx(20 / 10 - 0.1)
    assert at[125.0]["latency_s"] == pytest.approx(0.062193, abs=1e-6)
    assert at[250.0]["latency_s"] == pytest.approx(0.008)
    waits = [point["latency_s"] for point in body["points"][1:]]
    assert all(late >= soon for late, soon in pairwise(waits))
    for point in body["points"]:
        if point["rate_per_s"] >= body["derived"]["rate_min_per_s"]:
            assert point["utility"] == pytest.approx(6000 * (1 - point["latency_s"] / 0.5))


def test_window_is_chosen_where_none_is_given(api):
    latency = drawn(api, "latency", PAPER).json()["points"]
    assert latency[-1]["rate_per_s"] == pytest.approx(1.1 * 203.7037, rel=1e-4)
    assert drawn(api, "log", {"weight": 1}).json()["points"][-1]["rate_per_s"] == 1000


@pytest.mark.parametrize(
    ("kind", "parameters", "field"),
    [
        ("magic", {}, "kind"),
        ("log", {"weight": -1}, "parameters.weight"),
        ("log", {}, "parameters"),
        ("latency", {**PAPER, "exec_s": 0.5}, "parameters.exec_s"),
        ("piecewise", {"points": []}, "parameters.points"),
        ("piecewise", {"points": [[0, 0], [1]]}, "parameters.points[1]"),
        ("piecewise", {"points": [[5, 0], [1, 1]]}, "parameters.points[1][0]"),
        ("piecewise", {"points": [[0, 0], [1, 1]], "more": 1}, "parameters"),
    ],
)
def test_what_cannot_be_drawn_is_named_without_a_refusal(api, kind, parameters, field):
    answer = drawn(api, kind, parameters)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["points"] == []
    assert body["derived"] is None
    assert not body["concave"]
    assert body["problems"][0]["field"] == field
    assert body["problems"][0]["message"]


def test_points_that_are_not_concave_are_drawn_with_every_fault(api):
    points = [[0, 0], [10, 1], [20, 5], [30, 4], [40, 30]]
    body = drawn(api, "piecewise", {"points": points}, rate_max=40, samples=5).json()
    assert not body["concave"]
    fields = [problem["field"] for problem in body["problems"]]
    assert fields == ["parameters.points[2]", "parameters.points[3][1]", "parameters.points[4]"]
    assert [point["utility"] for point in body["points"]] == [0, 1, 5, 4, 30]


def test_falling_points_can_still_be_concave(api):
    body = drawn(api, "piecewise", {"points": [[0, 5], [10, 6], [20, 1]]}, rate_max=20).json()
    assert body["concave"]
    assert [problem["field"] for problem in body["problems"]] == ["parameters.points[2][1]"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"rate_min": 10, "rate_max": 10}, "rate_max"),
        ({"rate_min": -1}, "rate_min"),
        ({"rate_max": 1e13}, "rate_max"),
        ({"samples": 1}, "samples"),
        ({"samples": 2001}, "samples"),
    ],
)
def test_window_that_is_none_is_refused_at_its_field(api, more, field):
    answer = drawn(api, "log", {"weight": 1}, **more)
    assert answer.status_code == 400, answer.content
    assert answer.json()["errors"][0]["field"] == field
