"""Compile every kernel, so that nobody waits for it later: of the parts named, or of all.

`python -m weir.warm_up [PART ...]` is run when the product is installed, for the parts named below
or for all; it keeps compiled code on disk. It takes minutes of two cores the first time, then
seconds. Small problems of each kind walk through all branches that numba compiles apart; what they
do not reach is called by itself.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.allocation.arrays import to_arrays
from weir.clustering import clusterers
from weir.clustering.loads import wildcard_load
from weir.codec import problem_from_dict
from weir.codec.evaluation import evaluation_from_dict
from weir.codec.placement import placement_from_dict
from weir.correlation.activity import Search, activity_of
from weir.correlation.suggest import suggest
from weir.model.evaluation import EvaluationProblem
from weir.model.transformation import Move, Options
from weir.optimizers import annealing, certified
from weir.placement import srtm
from weir.placement.explained import explained_of
from weir.placement.handover import Part
from weir.placement.simulated_adaptation import keep_parts, simulate_adaptation
from weir.planners import exact, slides
from weir.planners.exact.direct_plan import direct
from weir.planners.slides.step_planning import improve_steps
from weir.queueing.periodic_work import PeriodicWork
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.simulated_broker import Senders, SimulatedBroker, simulated
from weir.queueing.traces import work_over
from weir.records import requests
from weir.records.slices import first_records
from weir.routing.benefit import Replay
from weir.routing.cost import routing
from weir.stop import never
from weir.topologies import designers
from weir.transformation.workloads import caterpillars, corridor, paper_workload, star_to_path

if TYPE_CHECKING:
    from weir.model import Problem
    from weir.model.transformation import Parallel
    from weir.planners import PlanProgress

UTILITIES: tuple[dict[str, Any], ...] = (
    {"kind": "log", "weight": 20},
    {"kind": "power", "weight": 5, "exponent": 0.5},
    {"kind": "piecewise", "points": [[0, 0], [50, 40], [100, 60]]},
)

FEW, MANY = 3, 12
"""Classes of a flow: what branch and bound can close, and what it leaves alone."""


def problem_sample(classes: int) -> dict[str, Any]:
    """Two flows over one node and one link; one flow with several shapes of utility."""
    return {
        "resources": ["cpu"],
        "nodes": [{"id": "n", "capacity": {"cpu": 9000}}],
        "links": [{"id": "l", "capacity": 300}],
        "flows": [
            {
                "id": name,
                "rate_min": 1,
                "rate_max": 1000,
                "node_costs": {"n": {"cpu": 3}},
                "link_costs": {"l": 1},
            }
            for name in ("one", "many")
        ],
        "classes": [
            {
                "id": f"{flow}{at}",
                "flow": flow,
                "node": "n",
                "population_max": 10 + at,
                "costs": {"cpu": 19},
                "utility": UTILITIES[at % len(UTILITIES) if flow == "many" else 0],
            }
            for flow in ("one", "many")
            for at in range(classes)
        ],
    }


def wanted_sample(classes: int) -> dict[str, Any]:
    """The same where a flow goes over the link only while somebody behind it is admitted."""
    plain = problem_sample(classes)
    route = {"n": {"from": "s", "link": "l"}}
    flows = [{**flow, "source": "s", "route": route} for flow in plain["flows"]]
    nodes = [{"id": "s", "capacity": {"cpu": 9000}}, *plain["nodes"]]
    return {**plain, "forwarding": "wanted", "nodes": nodes, "flows": flows}


def _reach_parts(problem: Problem) -> None:
    """The kernel that only problems cut into parts call."""
    from weir.allocation.layout import class_order, layout
    from weir.optimizers.certified.partition import class_worths

    arrays = to_arrays(problem)
    order = class_order(arrays)
    rates, worth = np.ones(len(arrays.flow_ids)), np.zeros(len(order))
    class_worths(layout(arrays, order), arrays.class_flow[order], rates, worth)


def warm_up_optimizers() -> float:
    """Solve the samples; their utility, which only says that everything ran."""
    small, large = (problem_from_dict(problem_sample(classes)) for classes in (FEW, MANY))
    _reach_parts(small)
    annealing.solve(small, annealing.Params(steps=1000), stop=never, seed=0)
    params = certified.Params(max_iterations=8, exact_rounds=2, polish_steps=200)
    wanted = problem_from_dict(wanted_sample(FEW))
    return sum(
        certified.solve(each, params, stop=never, seed=0).utility for each in (small, large, wanted)
    )


def evaluation_sample() -> EvaluationProblem:
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


def warm_up_topologies() -> float:
    """Cost of the sample's trees, which only says that everything ran."""
    problem = evaluation_sample()
    total = Replay(problem).held(Move(op="shift", broker="a", source="b", to="c"))
    for method in designers().values():
        edges = method.design(problem, method.Params(), stop=never, seed=0)
        total += routing(problem, edges).cost_per_s
    return total


ROUNDS = 100
CROWDED = 60
"""Brokers of a star whose hub has more links than are looked through one by one."""

PARALLEL: tuple[Parallel, ...] = ("broker-disjoint", "paper")


def _few_rounds(progress: PlanProgress) -> bool:
    return progress.round >= 3


def _never(progress: PlanProgress) -> bool:
    return False


def _enough(progress: PlanProgress) -> bool:
    return progress.round >= ROUNDS


def warm_up_slides() -> int:
    """Plan some small problems that reach every kernel; the actions of all, which only says so."""
    capped = Options(max_degree=7)
    problems = (
        corridor(),
        caterpillars(spine=6, legs=2, options=Options(max_degree=5)),
        star_to_path(CROWDED),
        paper_workload(brokers=40, seed=1, keep_degree=True, options=capped),
    )
    params = slides.Params()
    actions = sum(
        slides.plan(problem, params, objective="actions", stop=_enough, seed=1).actions
        for problem in problems
    )
    small = paper_workload(brokers=30, seed=2)
    actions += exact.plan(small, exact.Params(), objective="actions", stop=_never, seed=1).actions
    for parallel in PARALLEL:
        problem = paper_workload(brokers=20, seed=1, options=Options(parallel=parallel))
        actions += slides.plan(problem, params, objective="steps", stop=_few_rounds, seed=1).actions
    return actions


def warm_up_steps() -> int:
    """Plan a small problem in both meanings of parallel; the steps of both, which say it ran."""
    total = 0
    for parallel in ("broker-disjoint", "paper"):
        problem = paper_workload(
            brokers=40,
            seed=1,
            options=Options(parallel=parallel),
        )
        total += len(improve_steps(problem, direct(problem), stop=lambda p: p.round > 3, seed=0))
    return total


def warm_up_overlays() -> None:
    """Warm up the topologies, the slides planner and the steps in turn."""
    warm_up_topologies()
    warm_up_slides()
    warm_up_steps()


def warm_up_placements() -> float:
    """Place small topics that reach every kernel; a wait, which only says that everything ran."""
    total = 0.0
    for rates in ([1.0] * 4, [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 5.0]):
        problem = placement_from_dict(
            {
                "topic": {"rate": sum(rates), "token_rate": 1.1 * sum(rates), "bucket": 2},
                "brokers": [{"id": name, "max_rate": 5.5} for name in "ab"],
                "publishers": [
                    {"id": f"{at}", "rate": rate, "group": "g" if at else None}
                    for at, rate in enumerate(rates)
                ],
                "previous": {"1": "b"},
            }
        )
        total += srtm.place(problem, srtm.Params(), seed=0).mean_s or 0.0
        total += explained_of(problem, srtm.NAME, {}, seed=0)["p99_s"] or 0.0
    senders = Senders(batches=np.array([2]), batches_per_s=np.array([1.0]))
    broker = SimulatedBroker(speed_per_s=9.0, others_per_s=1.0, token_rate_per_s=3.0, bucket=2.0)
    total += simulated(broker, senders, seconds=9.0, seed=(0,), arrivals="periodic").mean.value
    parts = {"a": Part(rate_per_s=1.0, size=2.0)}
    followed = simulate_adaptation({"a": np.zeros(3)}, parts, seconds=2.5, rule=keep_parts)
    total += float(followed.waits["a"].sum())
    work, _ = work_over([0.0, 0.1], 1.0)
    total += PoissonWork(0.5).quantile(0.99) + PeriodicWork(0.5, senders=3).tail(0.5)
    return total + float(work.sum())


def warm_up_correlations() -> int:
    """Search a few publishers that reach every kernel; the groups, which only say that it ran."""
    chance = np.random.default_rng(1)
    events, beats = np.sort(chance.uniform(0.0, 600.0, 40)), np.arange(0.0, 600.0, 20.0)
    times = [events + 0.001, events, events - 0.001, beats, beats + 0.001, beats + 0.002]
    ids = np.repeat(np.arange(len(times)), [len(sent) for sent in times])
    activity = activity_of("abcdef", ids, np.concatenate(times), since_s=0.0, until_s=600.0)
    return len(suggest(activity, Search(false_groups=1.0)).groups)


def warm_up_mappings() -> int:
    """Map a small load by every method, each to its end and stopped at once; the groups in use,
    which only say that everything ran."""
    problem = wildcard_load(1, max_streams=12, max_groups=4)
    groups = 0
    for method in clusterers().values():
        for stop in (lambda: False, lambda: True):
            mapped = method.cluster(
                problem, method.Params(), seed=0, stop=stop, report=lambda seen: None
            )
            groups += len(set(mapped.group_of.tolist()))
    return groups


def warm_up_records() -> int:
    """Log a few requests; how many records they are, which only says that it ran."""
    log = requests.slices(requests.Shape(), records=100, seed=1)
    return sum(each.records for each in first_records(log, 100))


PARTS = {
    "optimizers": warm_up_optimizers,
    "overlays": warm_up_overlays,
    "placements": warm_up_placements,
    "correlations": warm_up_correlations,
    "mappings": warm_up_mappings,
    "records": warm_up_records,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m weir.warm_up", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    names = parser.parse_args().parts or list(PARTS)
    for name in names:
        if name not in PARTS:
            parser.error(f"no part {name!r}; there are {', '.join(PARTS)}")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(PARTS[name]) for name in names]:
            done.result()
