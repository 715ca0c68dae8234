"""Greedy admission against the same thing written one consumer class at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.weir.kernel_strategies import problem_dicts
from weir.allocation.arrays import to_arrays
from weir.allocation.segments import Segments
from weir.codec import problem_from_dict
from weir.model import Problem
from weir.optimizers.lrgp.admission import Admission

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
single = problem_dicts(least=1.0).filter(lambda entries: entries["resources"] == ["cpu"])


def plainly(problem: Problem, rate: dict[str, float]) -> tuple[dict[str, int], dict[str, float]]:
    """Algorithm 2, step 2, for one resource; populations and BC(b, t)."""
    population: dict[str, int] = {}
    best: dict[str, float] = {}
    for node in problem.nodes:
        room = node.capacity["cpu"] - sum(
            flow.node_costs.get(node.id, {}).get("cpu", 0.0) * rate[flow.id]
            for flow in problem.flows
        )
        overloaded, full, best[node.id] = room < 0, False, 0.0
        ranked = []
        for consumers in problem.classes:
            if consumers.node == node.id:
                cost = consumers.costs.get("cpu", 0.0) * rate[consumers.flow]
                worth = float(consumers.utility.value(rate[consumers.flow]))
                ranked.append((-worth / cost if cost else -math.inf, consumers.id, consumers))
        for minus_ratio, _, consumers in sorted(ranked, key=lambda entry: entry[:2]):
            cost = consumers.costs.get("cpu", 0.0) * rate[consumers.flow]
            worth = float(consumers.utility.value(rate[consumers.flow]))
            admitted = 0
            if worth > 0 or (cost == 0 and worth >= 0):
                admitted = consumers.population_max
                if cost:
                    spare = 0.0 if overloaded else max(room, 0) + 1e-11 * node.capacity["cpu"]
                    fits = 0 if full else math.floor(spare / cost)
                    admitted = min(admitted, fits)
                    full = full or admitted < consumers.population_max
                if admitted < consumers.population_max:
                    best[node.id] = max(best[node.id], -minus_ratio)
            population[consumers.id] = admitted
            room -= admitted * cost
    return population, best


@quick
@given(single, st.data())
def test_agrees_with_the_plain_transcription(entries: dict, data: st.DataObject) -> None:
    problem = problem_from_dict(entries)
    arrays = to_arrays(problem)
    rate = {f.id: data.draw(st.floats(f.rate_min, f.rate_max)) for f in problem.flows}
    rates = np.array([rate[flow_id] for flow_id in arrays.flow_ids])
    prices = np.zeros(arrays.node_capacity.shape)
    admitted = Admission(arrays)(rates, prices, rounds=1)
    population, best = plainly(problem, rate)
    ours = dict(zip(arrays.class_ids, admitted.populations, strict=True))
    for consumers in problem.classes:
        # one consumer more or less where a sum is rounded differently
        room = 1 + 1e-9 * consumers.population_max
        assert abs(ours[consumers.id] - population[consumers.id]) <= room
    if ours == population:
        for node_id, ratio in zip(arrays.node_ids, admitted.ratio[:, 0], strict=True):
            assert ratio == pytest.approx(best[node_id], rel=1e-12)


@quick
@given(problem_dicts(least=1.0), st.data())
def test_rounds_only_add_and_leave_nothing_that_fits(entries: dict, data: st.DataObject) -> None:
    problem = problem_from_dict(entries)
    arrays = to_arrays(problem)
    rates = np.array([data.draw(st.floats(f.rate_min, f.rate_max)) for f in problem.flows])
    prices = np.full(arrays.node_capacity.shape, data.draw(st.sampled_from([0.0, 1.0])))
    admission = Admission(arrays)
    once, filled = admission(rates, prices, rounds=1), admission(rates, prices, rounds=64)
    assert np.all(filled.populations >= once.populations)
    left = arrays.node_capacity - filled.used
    unit = arrays.class_costs * rates[arrays.class_flow][:, None]
    waits = (filled.populations < arrays.population_max) & (arrays.worth(rates) > 0)
    fits = np.all((unit == 0) | (unit <= left[arrays.class_node] * (1 - 1e-9) - 1e-300), axis=1)
    assert not np.any(waits & fits)


@given(st.lists(st.integers(0, 70), max_size=12), st.integers(0, 2**32))
def test_segments_sum_each_alone(sizes: list[int], seed: int) -> None:
    values = 10.0 ** np.random.default_rng(seed).uniform(-9, 9, sum(sizes))
    segments = Segments(np.array(sizes, dtype=np.int64))
    sums, largest = segments.sum_before(values), segments.maximum(values, -1.0)
    start = 0
    for index, size in enumerate(sizes):
        part = values[start : start + size]
        np.testing.assert_array_equal(
            sums[start : start + size], np.concatenate([[0.0], np.cumsum(part)])[:-1][:size]
        )
        assert largest[index] == (part.max() if size else -1.0)
        start += size
