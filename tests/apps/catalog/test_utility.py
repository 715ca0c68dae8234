"""Utility kinds and curves over REST: what the form draws."""

import math

import pytest

from weir.utility import kinds

pytestmark = pytest.mark.django_db
EXAMPLES = {
    "log": {"weight": 20},
    "power": {"weight": 2, "exponent": 0.5},
    "linear": {"weight": 3},
    "piecewise": {"points": [[0, 0], [10, 5], [20, 7]]},
    "latency": {"max_utility": 10, "threshold_s": 2, "senders": 4, "think_s": 1, "exec_s": 0.01},
}


def curve(api, kind, parameters, rates):
    body = {"kind": kind, "parameters": parameters, "rates": rates}
    return api.post("/api/v1/utility-kinds/curve", body, format="json")


def test_every_kind_is_described(api):
    described = {row["kind"]: row for row in api.get("/api/v1/utility-kinds").json()["results"]}
    assert set(described) == set(kinds()) == set(EXAMPLES)
    for row in described.values():
        assert row["summary"]
        for parameter in row["parameters"]:
            assert parameter["help"]


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_curve_is_drawn_from_little_to_much(api, kind):
    answer = curve(api, kind, EXAMPLES[kind], [1e-9, 0.001, 1, 10, 1e6, 1e12])
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert len(body["values"]) == len(body["derivatives"]) == 6
    assert all(map(math.isfinite, (*body["values"], *body["derivatives"])))


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_slope_at_nothing_is_a_number_or_refused_at_its_rate(api, kind):
    answer = curve(api, kind, EXAMPLES[kind], [1, 0])
    if kind == "power":
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "rates[1]"
    else:
        assert answer.status_code == 200, answer.content


@pytest.mark.parametrize(
    ("kind", "parameters", "rates", "field"),
    [
        ("magic", {}, [1], "kind"),
        ("log", {"weight": -1}, [1], "parameters.weight"),
        ("power", {"weight": 1, "exponent": 2}, [1], "parameters.exponent"),
        ("log", {"weight": 1}, [], "rates"),
        ("log", {"weight": 1}, [-1], "rates[0]"),
        ("log", {"weight": 1}, ["fast"], "rates[0]"),
        ("log", {"weight": 1}, 5, "rates"),
        ("log", {"weight": 1}, [1] * 1001, "rates"),
    ],
)
def test_what_cannot_be_drawn_is_named(api, kind, parameters, rates, field):
    answer = curve(api, kind, parameters, rates)
    assert answer.status_code == 400, answer.content
    assert answer.json()["errors"][0]["field"] == field
