"""A problem cut into parts answers as the whole does, however it is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.lrgp import workload
from tests.weir.kernel_strategies import problems
from weir.allocation.arrays import Arrays, to_arrays
from weir.allocation.layout import Blocks, blocks, capacities, class_order, layout
from weir.codec import problem_from_json
from weir.model import Problem, loads
from weir.optimizers import certified
from weir.optimizers.certified.dual import LocalDual, largest_flow
from weir.optimizers.certified.partition import even_cuts, flow_parts, node_parts, pairs_of
from weir.optimizers.certified.partitioned import LocalParts, PartitionedSearch, of_pairs
from weir.optimizers.certified.search import Search
from weir.optimizers.certified.solve import carry_out
from weir.stop import never


def cut_search(arrays: Arrays, cut: Blocks, parts: int) -> PartitionedSearch:
    """The search over a problem that was cut, all parts in this process."""
    order = class_order(arrays)
    whole = layout(arrays, order)
    pairs = pairs_of(arrays, order)
    nodes = node_parts(arrays, whole, order, pairs, parts)
    return PartitionedSearch(
        LocalParts(flow_parts(whole, cut, pairs, parts), nodes, capacities(arrays)),
        arrays,
        of_pairs(arrays, whole, pairs),
        [(at.class_at, at.pair_at) for at in nodes],
        order,
        largest_flow(whole),
        None,
    )


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(problems(least=0.0), st.integers(1, 4), st.data())
def test_any_cut_gives_the_bits_of_the_dual_and_the_consumers_of_the_nodes(
    problem: Any, parts: int, data: Any
) -> None:
    arrays = to_arrays(problem)
    flows = len(arrays.flow_ids)
    # blocks of single flows, so that small problems are cut at all
    singles = Blocks(start=np.arange(flows + 1) if flows else np.array([0, 0]))
    cut, whole = cut_search(arrays, singles, parts), Search(arrays, None, 1)
    local = LocalDual(whole.layout, singles, whole.capacity)
    rows = len(whole.capacity)
    drawn = st.lists(st.sampled_from([0.0, 1e-3, 1.0, 50.0]), min_size=rows, max_size=rows)
    prices = np.array(data.draw(drawn), dtype=float)
    cut.steps.prices = prices.copy()
    cut.descend(with_primal=True)
    assert cut.bound == local(prices).bound
    assert cut.primal.asked is not None
    question = cut.primal.asked
    admitted = np.empty(len(cut.order))
    for at, chosen in zip(cut.class_at, cut.parts.populations(question), strict=True):
        admitted[at] = chosen
    assert np.array_equal(admitted, whole.primal._admitted(question.rates, prices).populations)
    # what was summed up per pair is what the classes come to, and it fits
    assert cut.best is not None
    populations = cut.populations(cut.best)
    assert cut.utility == pytest.approx(
        arrays.utility(cut.best.rates, populations), rel=1e-9, abs=1e-9
    )
    assert_feasible(problem, arrays, cut.best.rates, populations)


def assert_feasible(problem: Problem, arrays: Arrays, rates: Any, populations: Any) -> None:
    """Every load within its capacity to a relative 1e-9."""
    named = dict(zip(arrays.flow_ids, rates.tolist(), strict=True))
    counted = dict(zip(arrays.class_ids, populations.astype(int).tolist(), strict=True))
    at_nodes, at_links = loads(problem, named, counted)
    for node in problem.nodes:
        for resource, capacity in node.capacity.items():
            assert at_nodes[node.id][resource] <= capacity * (1 + 1e-9)
    for link in problem.links:
        assert at_links[link.id] <= link.capacity * (1 + 1e-9)


def test_thousands_of_flows_in_parts_come_to_the_same_answer() -> None:
    arrays = to_arrays(problem_from_json(workload(20_000)))
    cut = cut_search(arrays, blocks(len(arrays.flow_ids)), 3)
    whole = Search(arrays, None, 1)
    for _ in range(20):
        whole.descend(with_primal=True)
        cut.descend(with_primal=True)
    whole.answer_at_best()
    cut.answer_at_best()
    assert cut.bound == pytest.approx(whole.bound, rel=1e-12)
    assert cut.utility == pytest.approx(whole.utility, rel=1e-12)
    assert cut.best is not None
    assert whole.best is not None
    assert np.array_equal(cut.populations(cut.best), whole.populations(whole.best))
    assert cut.utility == pytest.approx(
        arrays.utility(cut.best.rates, cut.populations(cut.best)), rel=1e-12
    )


def test_dual_of_the_parts_has_the_bits_of_the_whole() -> None:
    arrays = to_arrays(problem_from_json(workload(20_000)))
    prices = np.linspace(0.01, 0.05, len(capacities(arrays)))
    duals = []
    for parts in (1, 2, 7):
        search = cut_search(arrays, blocks(len(arrays.flow_ids)), parts)
        search.steps.prices = prices.copy()
        search.descend(with_primal=False)
        duals.append((search.bound, search.steps.prices.tobytes()))
    whole = Search(arrays, None, 2)
    whole.steps.prices = prices.copy()
    whole.descend(with_primal=False)
    assert set(duals) == {(whole.bound, whole.steps.prices.tobytes())}


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 8))
def test_cuts_are_runs_of_all_items(sizes: list[int], parts: int) -> None:
    cuts = even_cuts(np.array(sizes, dtype=np.int64), parts)
    assert cuts[0] == 0
    assert cuts[-1] == len(sizes)
    assert np.all(np.diff(cuts) > 0)
    assert len(cuts) <= parts + 1


def test_whatever_the_optimizer_asks_of_a_search_the_parts_can_answer() -> None:
    """From the first iteration to the record, through the optimizer itself."""
    problem = problem_from_json(workload(8_000))
    arrays = to_arrays(problem)
    # Cutting planes, which need all classes in one place, are left out of both.
    params = certified.Params(polish_steps=20, max_iterations=40, exact_rounds=0)
    whole = certified.solve(problem, params, stop=never, seed=0)
    search = cut_search(arrays, blocks(len(arrays.flow_ids)), 2)
    cut = carry_out(search, whole.problem_hash, params, stop=never, seed=0)
    assert cut.status == whole.status
    assert cut.utility == pytest.approx(whole.utility, rel=1e-9)
    assert cut.upper_bound == pytest.approx(whole.upper_bound, rel=1e-12)
