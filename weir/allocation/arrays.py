"""A Problem as arrays: the form in which optimizers compute.

Everything is in order of id, so that the order of the input never reaches a result.
A *term* is one distinct utility shape on one flow: classes that differ only in weight share
a term, and a term is evaluated once however many classes stand behind it.

Cost: one pass over the problem in Python, O(n log n) for the sort by id.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weir.allocation.curves import TermCurves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from weir.model import ConsumerClass, Flow, Problem
    from weir.utility import FloatArray, Utility

    IntArray = npt.NDArray[np.int64]

by_id = attrgetter("id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """Sizes: F flows, L links, N nodes, K resources, C classes, T terms."""

    resources: tuple[str, ...]
    flow_ids: tuple[str, ...]
    link_ids: tuple[str, ...]
    node_ids: tuple[str, ...]
    class_ids: tuple[str, ...]
    rate_min: FloatArray
    rate_max: FloatArray
    link_capacity: FloatArray
    link_costs: sparse.csr_array
    """L x F."""
    node_capacity: FloatArray
    """N x K."""
    node_costs: sparse.csr_array
    """(N K) x F, row b K + k for resource k of node b."""
    class_flow: IntArray
    class_node: IntArray
    population_max: FloatArray
    class_costs: FloatArray
    """C x K."""
    class_scale: FloatArray
    class_term: IntArray
    term_flow: IntArray
    curves: TermCurves

    def flow_loads(self, rates: FloatArray) -> FloatArray:
        """N x K: what the flows alone load on the nodes."""
        return np.asarray(self.node_costs @ rates).reshape(self.node_capacity.shape)

    def worth(self, rates: FloatArray) -> FloatArray:
        """U_j at the present rate, per class."""
        return np.asarray(
            self.class_scale * self.curves.value(rates[self.term_flow])[self.class_term]
        )

    def utility(self, rates: FloatArray, populations: FloatArray) -> float:
        """Return the objective, the total utility of the admitted consumers (equation 1)."""
        return float(np.sum(populations * self.worth(rates)))


def to_arrays(problem: Problem) -> Arrays:
    """The problem as arrays, in order of id."""
    resources = tuple(sorted(problem.resources))
    nodes = sorted(problem.nodes, key=by_id)
    links = sorted(problem.links, key=by_id)
    flows = sorted(problem.flows, key=by_id)
    classes = sorted(problem.classes, key=by_id)
    node_at = {node.id: index for index, node in enumerate(nodes)}
    link_at = {link.id: index for index, link in enumerate(links)}
    flow_at = {flow.id: index for index, flow in enumerate(flows)}
    class_flow = _indices(flow_at[consumers.flow] for consumers in classes)
    scale, class_term, term_flow, term_shapes = _terms(classes, class_flow)
    return Arrays(
        resources=resources,
        flow_ids=tuple(flow_at),
        link_ids=tuple(link_at),
        node_ids=tuple(node_at),
        class_ids=tuple(consumers.id for consumers in classes),
        rate_min=_floats(flow.rate_min for flow in flows),
        rate_max=_floats(flow.rate_max for flow in flows),
        link_capacity=_floats(link.capacity for link in links),
        link_costs=_link_costs(flows, link_at),
        node_capacity=_table([node.capacity for node in nodes], resources),
        node_costs=_node_costs(flows, node_at, resources),
        class_flow=class_flow,
        class_node=_indices(node_at[consumers.node] for consumers in classes),
        population_max=_floats(consumers.population_max for consumers in classes),
        class_costs=_table([consumers.costs for consumers in classes], resources),
        class_scale=scale,
        class_term=class_term,
        term_flow=term_flow,
        curves=TermCurves(term_shapes),
    )


def _floats(values: object) -> FloatArray:
    return np.fromiter(values, dtype=np.float64)  # type: ignore[call-overload, no-any-return]


def _indices(values: object) -> IntArray:
    return np.fromiter(values, dtype=np.int64)  # type: ignore[call-overload, no-any-return]


def _table(rows: Sequence[Mapping[str, float]], columns: tuple[str, ...]) -> FloatArray:
    table = np.zeros((len(rows), len(columns)))
    for k, column in enumerate(columns):
        table[:, k] = [row.get(column, 0.0) for row in rows]
    return table


def _csr(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> sparse.csr_array:
    entries.sort()
    rows = np.array([entry[0] for entry in entries], dtype=np.int64)
    columns = np.array([entry[1] for entry in entries], dtype=np.int64)
    values = np.array([entry[2] for entry in entries], dtype=np.float64)
    return sparse.csr_array((values, (rows, columns)), shape=shape)


def _link_costs(flows: Sequence[Flow], link_at: Mapping[str, int]) -> sparse.csr_array:
    entries = [
        (link_at[link], i, cost)
        for i, flow in enumerate(flows)
        for link, cost in flow.link_costs.items()
    ]
    return _csr(entries, (len(link_at), len(flows)))


def _node_costs(
    flows: Sequence[Flow], node_at: Mapping[str, int], resources: tuple[str, ...]
) -> sparse.csr_array:
    kind_at = {resource: k for k, resource in enumerate(resources)}
    entries = [
        (node_at[node] * len(resources) + kind_at[resource], i, cost)
        for i, flow in enumerate(flows)
        for node, costs in flow.node_costs.items()
        for resource, cost in costs.items()
    ]
    return _csr(entries, (len(node_at) * len(resources), len(flows)))


def _terms(
    classes: Sequence[ConsumerClass], class_flow: IntArray
) -> tuple[FloatArray, IntArray, IntArray, list[Utility]]:
    known: dict[Utility, tuple[float, int]] = {}
    shape_at: dict[Utility, int] = {}
    scale = np.empty(len(classes))
    class_shape = np.empty(len(classes), dtype=np.int64)
    for j, consumers in enumerate(classes):
        found = known.get(consumers.utility)
        if found is None:
            shape = consumers.utility.shape
            found = (consumers.utility.scale, shape_at.setdefault(shape, len(shape_at)))
            known[consumers.utility] = found
        scale[j], class_shape[j] = found
    width = max(1, len(shape_at))
    pairs, class_term = np.unique(class_flow * width + class_shape, return_inverse=True)
    shapes = list(shape_at)
    return scale, class_term.reshape(-1), pairs // width, [shapes[s] for s in pairs % width]
