"""Options of an overlay transformation as plain data, each held against both trees."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast, get_args

from weir.actions import edge
from weir.errors import InvalidProblem
from weir.model.transformation import ActionCosts, Options, Parallel
from weir.reading import amount, items, mapping, members, number, shown

if TYPE_CHECKING:
    from collections.abc import Collection

    from weir.model.transformation import Edge, Transformation

_KEYS = ("max_degree", "parallel", "action_costs", "frozen", "move_goal_links")
_PRICES = ("shift", "append", "detach", "move", "exchange")
_COST_KEYS = (*_PRICES, "brokers", "links")


def options_from_dict(obj: object, problem: Transformation) -> Options:
    """Checked options; every one may be left out."""
    given = members(obj, "options", (), _KEYS)
    parallel = given.get("parallel", "broker-disjoint")
    if parallel not in get_args(Parallel):
        known = ", ".join(get_args(Parallel))
        raise InvalidProblem("options.parallel", f"no meaning {shown(parallel)}; known are {known}")
    moves = given.get("move_goal_links", False)
    if not isinstance(moves, bool):
        raise InvalidProblem(
            "options.move_goal_links", f"must be true or false, not {shown(moves)}"
        )
    brokers, links = _frozen(given.get("frozen", []), problem)
    return Options(
        max_degree=_max_degree(given.get("max_degree"), problem),
        parallel=cast("Parallel", parallel),
        action_costs=_costs(given.get("action_costs", {}), problem),
        frozen_brokers=brokers,
        frozen_links=links,
        move_goal_links=moves,
    )


def options_to_dict(options: Options) -> dict[str, Any]:
    """The plain form; what is as it would be when left out is left out."""
    costs, usual = options.action_costs, ActionCosts()
    prices: dict[str, Any] = {
        name: getattr(costs, name)
        for name in _PRICES
        if getattr(costs, name) != getattr(usual, name)
    }
    if costs.brokers:
        prices["brokers"] = dict(sorted(costs.brokers.items()))
    if costs.links:
        prices["links"] = [[a, b, cost] for (a, b), cost in sorted(costs.links.items())]
    return {
        "max_degree": options.max_degree,
        "parallel": options.parallel,
        "action_costs": prices,
        "frozen": [
            *sorted(options.frozen_brokers),
            *(list(link) for link in sorted(options.frozen_links)),
        ],
        **({"move_goal_links": True} if options.move_goal_links else {}),
    }


def _max_degree(value: object, problem: Transformation) -> int | None:
    path = "options.max_degree"
    if value is None:
        return None
    limit = number(value, path)
    if limit != int(limit) or limit < 1:
        raise InvalidProblem(path, f"must be a whole number from 1 on, not {shown(value)}")
    for name, edges in (("initial", problem.initial), ("goal", problem.goal)):
        degrees = Counter(broker for link in edges for broker in link)
        if not degrees:
            continue
        most = max(degrees.values())
        broker = min(b for b, degree in degrees.items() if degree == most)
        if most > limit:
            raise InvalidProblem(
                path, f'is {int(limit)}, but "{broker}" has {most} links in {name}; allow {most}'
            )
    return int(limit)


def _frozen(obj: object, problem: Transformation) -> tuple[frozenset[str], frozenset[Edge]]:
    brokers: set[str] = set()
    links: set[Edge] = set()
    known = problem.initial_brokers | problem.goal_brokers
    for at, entry in enumerate(items(obj, "options.frozen")):
        path = f"options.frozen[{at}]"
        if isinstance(entry, str):
            if entry not in known:
                raise InvalidProblem(path, f"no broker {shown(entry)}; take it from brokers")
            brokers.add(entry)
            _refuse_changing(entry, path, problem)
            continue
        link = _pair(entry, path, known)
        if link not in problem.initial:
            raise InvalidProblem(path, f"no link {'-'.join(link)} in initial; leave it out")
        if link not in problem.goal:
            raise InvalidProblem(
                path, f"the link {'-'.join(link)} is frozen, but not in the goal; keep it there"
            )
        links.add(link)
    return frozenset(brokers), frozenset(links)


def _refuse_changing(broker: str, path: str, problem: Transformation) -> None:
    for link in sorted(problem.initial ^ problem.goal):
        if broker in link:
            gone = "loses" if link in problem.initial else "gains"
            raise InvalidProblem(
                path,
                f'"{broker}" is frozen, but {gone} the link {"-".join(link)}; '
                "change the goal or let the broker change",
            )


def _costs(obj: object, problem: Transformation) -> ActionCosts:
    path = "options.action_costs"
    given = members(obj, path, (), _COST_KEYS)
    known = problem.initial_brokers | problem.goal_brokers
    prices = {
        name: amount(given[name], f"{path}.{name}")
        for name in _PRICES
        if name in given and not (given[name] is None and name in ("move", "exchange"))
    }
    brokers = mapping(given.get("brokers", {}), f"{path}.brokers")
    for name in brokers:
        if name not in known:
            raise InvalidProblem(
                f"{path}.brokers", f"no broker {shown(name)}; take it from brokers"
            )
    links: dict[Edge, float] = {}
    for at, entry in enumerate(items(given.get("links", []), f"{path}.links")):
        where = f"{path}.links[{at}]"
        parts = items(entry, where)
        if len(parts) != 3:
            raise InvalidProblem(where, "must be two brokers and a cost")
        link = _pair(parts[:2], where, known)
        if link in links:
            raise InvalidProblem(where, f"the link {'-'.join(link)} has a cost already; give one")
        links[link] = amount(parts[2], where)
    return ActionCosts(
        **prices,
        brokers={name: amount(cost, f"{path}.brokers.{name}") for name, cost in brokers.items()},
        links=links,
    )


def _pair(obj: object, path: str, known: Collection[str]) -> Edge:
    ends = items(obj, path)
    if len(ends) != 2 or not all(isinstance(end, str) for end in ends):
        raise InvalidProblem(path, "must be a broker or a pair of brokers")
    for end in ends:
        if end not in known:
            raise InvalidProblem(path, f"no broker {shown(end)}; take it from brokers")
    return edge(ends[0], ends[1])
