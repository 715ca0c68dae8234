"""How full brokers are in one state, by the model: the arithmetic behind checks and maps."""

import math

from apps.plans.selectors.intermediate import broker_shares
from weir.actions import InForce, setting_key
from weir.codec import problem_from_dict
from weir.model import Problem
from weir.model.plan import Action, Value


def problem(**capacities: float) -> Problem:
    """Flow f passes every broker at 2 units a message; class k at b costs 1 per consumer, too."""
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": name, "capacity": {"cpu": c}} for name, c in capacities.items()],
            "links": [],
            "flows": [
                {
                    "id": "f",
                    "rate_min": 0,
                    "rate_max": 100,
                    "node_costs": {name: {"cpu": 2} for name in capacities},
                    "link_costs": {},
                }
            ],
            "classes": [
                {
                    "id": "k",
                    "flow": "f",
                    "node": "b",
                    "population_max": 10,
                    "costs": {"cpu": 1},
                    "utility": {"kind": "log", "weight": 1},
                }
            ],
        }
    )


def state(**settings: tuple[dict[str, str], Value]) -> InForce:
    return InForce(
        settings={
            setting_key(Action(kind=kind, target=target)): value
            for kind, (target, value) in settings.items()
        }
    )


FLOW = ({"flow": "f"}, {"broker": "a", "delivery": "reliable"})
CLASS = ({"class": "k", "broker": "b"}, {"flow": "f"})
GATE = ({"flow": "f", "broker": "a"}, {"rate_per_s": 25.0, "burst": 1.0})
LIMIT = ({"class": "k", "flow": "f", "broker": "b"}, {"limit": 4})


def test_a_flow_without_gate_and_a_class_without_limit_count_with_all_they_may_ask_for():
    shares = broker_shares(problem(a=400, b=400), state(carry_flow=FLOW, serve_class=CLASS))
    assert shares == {"a": 0.5, "b": (200 + 1000) / 400}


def test_gate_and_limit_bound_what_is_loaded():
    between = state(carry_flow=FLOW, serve_class=CLASS, set_flow_rate=GATE, set_population=LIMIT)
    assert broker_shares(problem(a=400, b=400), between) == {"a": 50 / 400, "b": (50 + 100) / 400}


def test_a_class_that_is_not_served_loads_nothing():
    shares = broker_shares(problem(a=400, b=400), state(carry_flow=FLOW, set_population=LIMIT))
    assert shares == {"a": 0.5, "b": 0.5}


def test_a_flow_that_is_not_carried_loads_nothing():
    shares = broker_shares(problem(a=400, b=400), state(serve_class=CLASS, set_flow_rate=GATE))
    assert shares == {"a": 0.0, "b": 0.0}


def test_a_broker_without_capacity_is_empty_or_fuller_than_anything():
    small = ({"flow": "f", "broker": "a"}, {"rate_per_s": 0.25, "burst": 1.0})
    brokers = problem(a=0, b=0.5)
    assert broker_shares(brokers, state()) == {"a": 0.0, "b": 0.0}
    shares = broker_shares(brokers, state(carry_flow=FLOW, set_flow_rate=small))
    assert shares == {"a": math.inf, "b": 1.0}
