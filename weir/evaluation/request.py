"""What to compare: a portfolio of methods, planners and seeds, read and checked.

    {"methods": [{"name": "minimum_cost", "parameters": {}}], "goals": {"Goal 1": [["a", "b"]]},
     "planners": [{"name": "slides"}], "seeds": [0, 1], "objective": "actions"}

Every key may be left out: all methods, Weir's own planner, one seed. A name alone is a method or
planner without parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from weir.errors import InvalidProblem, UnknownMethod
from weir.planners import DEFAULT, planner
from weir.plugins import from_dict
from weir.reading import number, shown
from weir.topologies import designer, designers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from weir.model.transformation import Edge, Objective

OBJECTIVES: tuple[Objective, Objective] = ("actions", "steps")

KEEP_TODAY = "keep_today"
GOAL = "goal"
"""The method of a candidate that was given instead of designed."""

_KEYS = ("kind", "methods", "goals", "planners", "seeds", "objective")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Hold a method or planner with its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portfolio:
    """Hold what to compare. Doing nothing is always the first candidate."""

    methods: tuple[Choice, ...]
    goals: Mapping[str, frozenset[Edge]] = field(default_factory=dict)
    """Trees that are given, by name."""
    planners: tuple[Choice, ...] = (Choice(name=DEFAULT),)
    seeds: tuple[int, ...] = (0,)
    objective: Objective = "actions"
    """Of the plan that is recommended; both are planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Hold one candidate to be designed: its method, parameters and seed, or its given edges."""

    name: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    edges: frozenset[Edge] = frozenset()
    """Of a goal that is given."""


def portfolio_from_dict(obj: object) -> Portfolio:
    """What a run was asked for; names and parameters are checked. Raises WeirError."""
    if not isinstance(obj, dict):
        raise InvalidProblem("", f"must be an object, not {shown(obj)}")
    for key in obj:
        if key not in _KEYS:
            raise InvalidProblem("", f"unknown key {shown(key)}; known are {', '.join(_KEYS)}")
    objective = obj.get("objective", "actions")
    if objective not in OBJECTIVES:
        raise InvalidProblem("objective", f"must be actions or steps, not {shown(objective)}")
    seeds = tuple(_seed(seed, f"seeds[{at}]") for at, seed in enumerate(obj.get("seeds", [0])))
    if not seeds:
        raise InvalidProblem("seeds", "must hold at least one seed")
    goals = obj.get("goals", {})
    return Portfolio(
        methods=_choices(obj.get("methods"), "methods", tuple(designers()), designer),
        goals={name: _tree(pairs, f"goals.{name}") for name, pairs in sorted(goals.items())},
        planners=_choices(obj.get("planners"), "planners", (DEFAULT,), planner),
        seeds=tuple(dict.fromkeys(seeds)),
        objective=objective,
    )


def designs(portfolio: Portfolio) -> tuple[Design, ...]:
    """Doing nothing, the goals given, then every method with every seed that it uses."""
    found = [Design(name=KEEP_TODAY, method=KEEP_TODAY)]
    found += [Design(name=name, method=GOAL, edges=e) for name, e in portfolio.goals.items()]
    for choice in portfolio.methods:
        if choice.name == KEEP_TODAY:
            continue
        seeds = portfolio.seeds if designer(choice.name).SEEDED else portfolio.seeds[:1]
        for seed in seeds:
            name = choice.name if len(seeds) == 1 else f"{choice.name} {seed}"
            found.append(
                Design(name=name, method=choice.name, parameters=choice.parameters, seed=seed)
            )
    return tuple(_distinct(found))


def _distinct(found: Sequence[Design]) -> list[Design]:
    """Names are unique: the second of a name gets a number."""
    seen: dict[str, int] = {}
    out = []
    for each in found:
        count = seen[each.name] = seen.get(each.name, 0) + 1
        out.append(each if count == 1 else replace(each, name=f"{each.name} ({count})"))
    return out


def _choices(
    obj: object, path: str, usual: tuple[str, ...], find: Callable[[str], Any]
) -> tuple[Choice, ...]:
    if obj is None:
        return tuple(Choice(name=name) for name in usual)
    if not isinstance(obj, list | tuple):
        raise InvalidProblem(path, f"must be a list, not {shown(obj)}")
    found = []
    for at, entry in enumerate(obj):
        row = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise InvalidProblem(f"{path}[{at}]", "must be a name, or an object with a name")
        for key in row.keys() - {"name", "parameters"}:
            raise InvalidProblem(f"{path}[{at}]", f"unknown key {shown(key)}")
        try:
            from_dict(find(row["name"]).Params, row.get("parameters", {}))
        except UnknownMethod as error:
            raise InvalidProblem(f"{path}[{at}]", str(error)) from None
        except InvalidProblem as error:
            raise error.below(f"{path}[{at}].parameters") from None
        found.append(Choice(name=row["name"], parameters=row.get("parameters", {})))
    return tuple(found)


def _seed(value: object, path: str) -> int:
    seed = number(value, path)
    if seed != int(seed) or seed < 0:
        raise InvalidProblem(path, f"must be a whole number from 0 on, not {shown(value)}")
    return int(seed)


def _tree(obj: object, path: str) -> frozenset[Edge]:
    try:
        pairs = [(str(a), str(b)) for a, b in obj]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidProblem(path, "must be a list of pairs of brokers") from None
    return frozenset((a, b) if a < b else (b, a) for a, b in pairs)
