"""The trading day of the paper (Bhola et al., section V.A, figures 5 and 6) as a schedule study.

Four flows of 10 to 200 msg/s; 200 gold, 400 silver and 800 bronze consumers spread equally, worth
100 r, 10 r and r; the CPU coefficients of best-effort flows. The paper does not print the CPU
threshold; 140 units carry all gold and silver ones and a part of the bronze ones at full rate.
"""

import pytest

from weir.codec import problem_from_dict
from weir.optimizers import methods
from weir.scenarios import check, expand, solve_unit, study_from_dict

PER_FLOW, PER_CONSUMER, CPU = 0.00146092, 0.00103146, 140.0
SIZES = {"Gold": 50, "Silver": 100, "Bronze": 200}
WORTH = {"Gold": 100, "Silver": 10, "Bronze": 1}
DAY = [
    ("Start of Day", 100, 100, 100),
    ("Coffee Break", 10, 25, 100),
    ("After Coffee Break", 100, 100, 100),
    ("Lunch", 0, 5, 100),
    ("After Lunch", 100, 100, 100),
    ("End of Day", 0, 0, 100),
]
NAMED = [name for name in ("certified", "greedy") if name in methods()]


@pytest.fixture(scope="module")
def problem():
    flows = [f"sector{number}" for number in range(4)]
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "server", "capacity": {"cpu": CPU}}],
            "links": [],
            "flows": [
                {"id": flow, "rate_min": 10, "rate_max": 200, "link_costs": {}}
                | {"node_costs": {"server": {"cpu": PER_FLOW}}}
                for flow in flows
            ],
            "classes": [
                {
                    "id": f"{flow}.{name}",
                    "flow": flow,
                    "node": "server",
                    "population_max": SIZES[name],
                    "costs": {"cpu": PER_CONSUMER},
                    "utility": {"kind": "linear", "weight": WORTH[name]},
                }
                for flow in flows
                for name in SIZES
            ],
        }
    )


@pytest.fixture(scope="module")
def day(problem):
    """Rows by method, in the order of the day."""
    study = study_from_dict(
        {
            "kind": "schedule",
            "methods": [{"method": name} for name in NAMED],
            "groups": [
                {"name": name, "classes": [f"sector{number}.{name}" for number in range(4)]}
                for name in SIZES
            ],
            "segments": [
                {"label": label, "percent": dict(zip(SIZES, percent, strict=True))}
                for label, *percent in DAY
            ],
        }
    )
    check(study, problem)
    rows = [
        row for unit in expand(study) for row in solve_unit(problem, study, unit, clock=lambda: 0.0)
    ]
    return {name: [row for row in rows if row["method"] == name] for name in NAMED}


def counts(row):
    return {group["name"]: (group["admitted"], group["wanted"]) for group in row["groups"]}


@pytest.mark.parametrize("name", NAMED)
def test_population_follows_figure_5(day, name):
    wanted = [{group: wanted for group, (_, wanted) in counts(row).items()} for row in day[name]]
    assert wanted[0] == {"Gold": 200, "Silver": 400, "Bronze": 800}
    assert wanted[1] == {"Gold": 20, "Silver": 100, "Bronze": 800}
    assert wanted[3] == {"Gold": 0, "Silver": 20, "Bronze": 800}
    assert wanted[5] == {"Gold": 0, "Silver": 0, "Bronze": 800}


@pytest.mark.parametrize("name", NAMED)
def test_gold_is_always_admitted_and_bronze_only_after_the_dearer_ones(day, name):
    for row in day[name]:
        held = counts(row)
        assert held["Gold"][0] == held["Gold"][1], row["label"]
        if held["Bronze"][0] > 0:
            assert held["Silver"][0] == held["Silver"][1], row["label"]


@pytest.mark.parametrize("name", NAMED)
def test_rate_stays_near_its_maximum_until_only_bronze_is_left(day, name):
    rates = [row["rate_average_per_s"] for row in day[name]]
    assert all(rate > 195 for rate in rates[:5])
    assert rates[5] < 190
    assert counts(day[name][5])["Bronze"] == (800, 800)


def test_certified_bound_holds_for_every_method_and_segment(day):
    bounds = [row["upper_bound"] for row in day["certified"]]
    for rows in day.values():
        for row, bound in zip(rows, bounds, strict=True):
            assert row["utility"] <= bound * (1 + 1e-9)
