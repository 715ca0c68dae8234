"""Compiles the kernels of goal topologies."""

from __future__ import annotations

from weir.codec.evaluation import evaluation_from_dict
from weir.model.evaluation import EvaluationProblem
from weir.model.transformation import Move
from weir.routing.benefit import Replay
from weir.routing.cost import routing
from weir.stop import never
from weir.topologies import designers


def sample() -> EvaluationProblem:
    """A path of five brokers whose ends talk with each other; one has too many links."""
    return evaluation_from_dict(
        {
            "brokers": [{"id": name, "degree_max": 2} for name in "abcdef"],
            "missing_links": {"latency_s": 0.01},
            "traffic": [
                {"topic": "one", "published": {"a": 5}, "interested": {"e": 5, "f": 1}},
                {"topic": "two", "published": {"e": 3, "c": 1}, "interested": {"a": 5}},
            ],
            "today": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["b", "f"]],
            "disruption": {"per_action": 0.001},
        }
    )


def warm_up() -> float:
    """Cost of the sample's trees, which only says that everything ran."""
    problem = sample()
    total = Replay(problem).held(Move(op="shift", broker="a", source="b", to="c"))
    for method in designers().values():
        edges = method.design(problem, method.Params(), stop=never, seed=0)
        total += routing(problem, edges).cost_per_s
    return total
