"""What a study keeps of one answer: a row, plain and small, that can travel and be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir.scenarios._protocol import Measure
from weir.scenarios.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.model import Problem, Result
    from weir.scenarios.edits import Edit, Edited
    from weir.scenarios.expansion import Case
    from weir.scenarios.spec import Group

SCARCEST = 5
"""So many prices are kept, beside the highest of each resource."""

INVALID = "invalid"
"""The status of a scenario whose edits do not give a valid problem."""
FAILED = "failed"
"""The status of a scenario on which the method itself broke."""


def nothing(case: Case, status: str, reason: str, runtime_s: float) -> dict[str, Any]:
    """The row of a scenario without an answer."""
    return {
        "index": case.index,
        "label": case.label,
        "method": case.method.label,
        "coordinates": list(case.coordinates),
        "status": status,
        "reason": reason,
        "utility": None,
        "upper_bound": None,
        "gap": None,
        "admitted": None,
        "wanted": None,
        "rate_average_per_s": None,
        "moved": None,
        "iterations": 0,
        "quantities": [],
        "marginals": [],
        "prices": [],
        "groups": [],
        "division": {},
        "rates": None,
        "runtime_s": runtime_s,
    }


def row(
    case: Case,
    edited: Edited,
    result: Result,
    *,
    groups: Sequence[Group],
    before: Result | None,
    keep_rates: bool,
    runtime_s: float,
) -> dict[str, Any]:
    """The row of an answer; `before` is the answer of the segment before."""
    problem = edited.problem
    measures = [_measured(edit, problem, result) for edit in case.measured]
    plain = nothing(case, result.status, result.reason, runtime_s)
    plain |= {
        "iterations": result.iterations,
        "wanted": sum(consumers.population_max for consumers in problem.classes),
        "quantities": [measure.quantity for measure in measures],
        "marginals": [measure.marginal for measure in measures],
    }
    if result.status == "infeasible":
        return plain | {"marginals": [None] * len(measures)}
    rates = result.rates
    return plain | {
        "utility": result.utility,
        "upper_bound": result.upper_bound,
        "gap": _gap(result),
        "admitted": sum(result.populations.values()),
        "rate_average_per_s": sum(rates.values()) / len(rates) if rates else None,
        "moved": None if before is None else _moved(before, result),
        "prices": scarcest(problem, result),
        "groups": _groups(problem, result, groups),
        "division": _division(case, edited, result),
        "rates": dict(rates) if keep_rates else None,
    }


def _measured(edit: Edit | None, problem: Problem, result: Result) -> Measure:
    if edit is None:
        return Measure()
    # The model as it is has none of the resources that a budget in `base` sets apart.
    named = [name for _, what, name in edit.refers_to() if what == "resource"]
    if not set(named) <= set(problem.resources):
        return Measure()
    return edit.measure(problem, result)


def _gap(result: Result) -> float | None:
    """Relative distance to the bound, 0.01 for one percent."""
    bound = result.upper_bound
    if bound is None:
        return None
    if bound == 0:
        return 0.0 if result.utility == 0 else None
    return max(0.0, (bound - result.utility) / abs(bound))


def _moved(before: Result, now: Result) -> int:
    """Consumers admitted or released since the segment before."""
    ids = before.populations.keys() | now.populations.keys()
    return sum(abs(now.populations.get(x, 0) - before.populations.get(x, 0)) for x in ids)


def scarcest(problem: Problem, result: Result) -> list[dict[str, Any]]:
    """The resources where all that there is is worth most: price times capacity, highest first.

    The highest price of each resource is always among them: there one more unit is best spent.
    """
    held = [
        ("node", node.id, name, result.node_prices.get(node.id, {}).get(name, 0.0), capacity)
        for node in problem.nodes
        for name, capacity in node.capacity.items()
    ]
    priced: list[tuple[str, str, str | None, float, float]] = [
        *held,
        *(
            ("link", link.id, None, result.link_prices.get(link.id, 0.0), link.capacity)
            for link in problem.links
        ),
    ]
    ranked = sorted(
        (entry for entry in priced if entry[3] > 0),
        key=lambda entry: (-entry[3] * entry[4], entry[0], entry[1], entry[2] or ""),
    )
    dearest: dict[tuple[str, str | None], float] = {}
    for kind, _, resource, price, _ in ranked:
        dearest[kind, resource] = max(price, dearest.get((kind, resource), 0.0))
    kept = []
    for position, (kind, name, resource, price, _) in enumerate(ranked):
        # Once per resource: of several with the highest price the first is enough.
        is_dearest = dearest.get((kind, resource)) == price
        if is_dearest:
            del dearest[kind, resource]
        if is_dearest or position < SCARCEST:
            kept.append({"kind": kind, "id": name, "resource": resource, "price": price})
    return kept


def _groups(problem: Problem, result: Result, groups: Sequence[Group]) -> list[dict[str, Any]]:
    if not groups:
        return []
    owner = {name: group.name for group in groups for name in group.classes}
    sums = {group.name: [0, 0] for group in groups}
    for consumers in problem.classes:
        name = owner.get(consumers.id)
        if name is not None:
            sums[name][0] += result.populations.get(consumers.id, 0)
            sums[name][1] += consumers.population_max
    return [
        {"name": name, "admitted": admitted, "wanted": wanted}
        for name, (admitted, wanted) in sums.items()
    ]


def _division(case: Case, edited: Edited, result: Result) -> dict[str, float]:
    """Capacity by node of every budget; of the model as it is what there is today."""
    division: dict[str, float] = {}
    for edit in (*case.edits, *case.measured):
        if isinstance(edit, Budget):
            division |= edit.capacities(edited.problem)
    for budget, before in edited.pools:
        division |= budget.division(before, result)
    return division
