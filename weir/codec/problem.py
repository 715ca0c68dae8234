"""Plain objects into a checked Problem (allocation format, version 1).

One pass, linear in the size of the input. The common case is checked by a few comparisons
per entry; only an entry that fails them is looked at again to say what is wrong.
"""

from __future__ import annotations

import contextlib
import unicodedata
from typing import TYPE_CHECKING, Any, TypeVar

from weir.codec.gc_pause import paused
from weir.codec.json_text import object_from_json
from weir.codec.route import flow_route, flow_source
from weir.errors import InvalidProblem
from weir.model import ConsumerClass, Flow, Forwarding, Link, Node, Problem
from weir.reading import LARGEST_NUMBER, SMALLEST_NUMBER, mapping, number, shown
from weir.utility import utility_from_dict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from weir.utility import Utility

MAX_POPULATION = 2**53
"""Above this a double no longer counts consumers one by one."""

MAX_ID_LENGTH = 1000
MAX_RESOURCES = 100
MAX_SHARED = 100_000

T = TypeVar("T")

_TOP_KEYS = frozenset({"resources", "nodes", "links", "flows", "classes"})
_NODE_KEYS = frozenset({"id", "capacity"})
_LINK_KEYS = frozenset({"id", "capacity"})
_FLOW_KEYS = frozenset({"id", "rate_min", "rate_max", "node_costs", "link_costs"})
_TOP_OPTIONAL = frozenset({"forwarding"})
_FLOW_OPTIONAL = frozenset({"source", "route"})
_NONE: frozenset[str] = frozenset()
_CLASS_KEYS = frozenset({"id", "flow", "node", "population_max", "costs", "utility"})


def problem_from_json(raw: bytes) -> Problem:
    """A checked problem from the bytes of a file."""
    with paused():
        return problem_from_dict(object_from_json(raw))


def problem_from_dict(obj: object) -> Problem:
    """A checked problem from plain lists, dicts, strings and numbers."""
    top = _object(obj, "", _TOP_KEYS, _TOP_OPTIONAL)
    resources = _resources(top["resources"])
    nodes = tuple(_nodes(top["nodes"], resources))
    links = tuple(_links(top["links"]))
    node_ids = _unique("nodes", nodes)
    link_ids = _unique("links", links)
    flows = tuple(_flows(top["flows"], frozenset(resources), node_ids, link_ids))
    flow_ids = _unique("flows", flows)
    classes = tuple(_classes(top["classes"], frozenset(resources), node_ids, flow_ids))
    _unique("classes", classes)
    return Problem(
        resources=resources,
        nodes=nodes,
        links=links,
        flows=flows,
        classes=classes,
        forwarding=_forwarding(top.get("forwarding", Forwarding.ALWAYS.value)),
    )


def _forwarding(value: object) -> Forwarding:
    if isinstance(value, str) and value in list(Forwarding):
        return Forwarding(value)
    known = " or ".join(shown(one.value) for one in Forwarding)
    raise InvalidProblem("forwarding", f"must be {known}, not {shown(value)}")


def _object(
    obj: object, path: str, keys: frozenset[str], optional: frozenset[str] = _NONE
) -> dict[str, Any]:
    if type(obj) is dict and obj.keys() == keys:
        return obj
    obj = mapping(obj, path)
    named = f" (id {shown(obj['id'])})" if isinstance(obj.get("id"), str) else ""
    for key in obj:
        if key not in keys and key not in optional:
            known = ", ".join(sorted(keys | optional))
            raise InvalidProblem(path, f"unknown key {shown(key)}{named}; known are {known}")
    missing = sorted(keys - obj.keys())
    if missing:
        raise InvalidProblem(path, f'missing key "{missing[0]}"{named}; add it')
    return obj


def _entries(
    obj: object, name: str, keys: frozenset[str], optional: frozenset[str] = _NONE
) -> Iterator[tuple[int, dict[str, Any], str]]:
    if not isinstance(obj, list | tuple):
        raise InvalidProblem(name, f"must be a list, not {shown(obj)}")
    for index, entry in enumerate(obj):
        if type(entry) is not dict or entry.keys() != keys:
            entry = _object(entry, f"{name}[{index}]", keys, optional)
        entry_id = entry["id"]
        if type(entry_id) is not str or not 0 < len(entry_id) <= 200 or not entry_id.isprintable():
            _check_id(entry_id, f"{name}[{index}].id")
        yield index, entry, entry_id


def _check_id(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidProblem(path, f"must be a string, not {shown(value)}")
    if not value:
        raise InvalidProblem(path, "must not be empty")
    if len(value) > MAX_ID_LENGTH:
        raise InvalidProblem(path, f"longer than {MAX_ID_LENGTH} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise InvalidProblem(path, "contains a control character or half a character")
    return value


def _unique(name: str, entries: tuple[Node | Link | Flow | ConsumerClass, ...]) -> frozenset[str]:
    ids = frozenset(entry.id for entry in entries)
    if len(ids) < len(entries):
        first: dict[str, int] = {}
        for index, entry in enumerate(entries):
            if entry.id in first:
                raise InvalidProblem(
                    f"{name}[{index}].id",
                    f"duplicate id {shown(entry.id)}, already at {name}[{first[entry.id]}]; "
                    "rename one",
                )
            first[entry.id] = index
    return ids


def _resources(obj: object) -> tuple[str, ...]:
    if not isinstance(obj, list | tuple):
        raise InvalidProblem("resources", f"must be a list of names, not {shown(obj)}")
    if len(obj) > MAX_RESOURCES:
        raise InvalidProblem("resources", f"more than {MAX_RESOURCES} resources")
    for index, name in enumerate(obj):
        _check_id(name, f"resources[{index}]")
        if name in obj[:index]:
            raise InvalidProblem(f"resources[{index}]", f"duplicate resource {shown(name)}")
    return tuple(obj)


def _amount(value: object, path: str, whose: str) -> float:
    """A number that may not be negative."""
    if type(value) is float and SMALLEST_NUMBER <= value <= LARGEST_NUMBER:
        return value
    amount = number(value, path)
    if amount < 0:
        raise InvalidProblem(path, f"must not be negative, but is {amount:g} ({whose})")
    return amount


def _amounts(
    obj: object, path: str, known: Collection[str], what: str, whose: str
) -> dict[str, float]:
    """An object from known names to numbers that may not be negative."""
    amounts: dict[str, float] = {}
    for key, value in mapping(obj, path).items():
        if key not in known:
            raise InvalidProblem(path, f"no {what} {shown(key)} ({whose}); {_add_or_correct(what)}")
        amounts[key] = _amount(value, f"{path}.{key}", whose)
    return amounts


def _add_or_correct(what: str) -> str:
    return f"add it to {what}s or correct the name"


def _nodes(obj: object, resources: tuple[str, ...]) -> Iterator[Node]:
    known = frozenset(resources)
    for index, entry, node_id in _entries(obj, "nodes", _NODE_KEYS):
        path = f"nodes[{index}].capacity"
        whose = f"node {shown(node_id)}"
        capacity = _amounts(entry["capacity"], path, known, "resource", whose)
        for resource in resources:
            if resource not in capacity:
                raise InvalidProblem(path, f"no capacity for {shown(resource)} ({whose}); add it")
        yield Node(id=node_id, capacity=capacity)


def _links(obj: object) -> Iterator[Link]:
    for index, entry, link_id in _entries(obj, "links", _LINK_KEYS):
        capacity = _amount(entry["capacity"], f"links[{index}].capacity", f"link {shown(link_id)}")
        yield Link(id=link_id, capacity=capacity)


def _flows(
    obj: object, resources: frozenset[str], nodes: frozenset[str], links: frozenset[str]
) -> Iterator[Flow]:
    for index, entry, flow_id in _entries(obj, "flows", _FLOW_KEYS, _FLOW_OPTIONAL):
        path = f"flows[{index}]"
        whose = f"flow {shown(flow_id)}"
        rate_min = _amount(entry["rate_min"], f"{path}.rate_min", whose)
        rate_max = _amount(entry["rate_max"], f"{path}.rate_max", whose)
        if rate_min > rate_max:
            raise InvalidProblem(
                f"{path}.rate_min", f"{rate_min:g} is above rate_max {rate_max:g} ({whose})"
            )
        costs = entry["node_costs"]
        node_costs: dict[str, Mapping[str, float]] = {}
        for node, amounts in mapping(costs, f"{path}.node_costs").items():
            if node not in nodes:
                raise InvalidProblem(
                    f"{path}.node_costs",
                    f"no node {shown(node)} ({whose}); {_add_or_correct('node')}",
                )
            node_costs[node] = _amounts(
                amounts, f"{path}.node_costs.{node}", resources, "resource", whose
            )
        link_costs = _amounts(entry["link_costs"], f"{path}.link_costs", links, "link", whose)
        source = flow_source(entry.get("source"), path, nodes, whose)
        yield Flow(
            id=flow_id,
            rate_min=rate_min,
            rate_max=rate_max,
            node_costs=node_costs,
            link_costs=link_costs,
            source=source,
            route=flow_route(entry.get("route", {}), path, nodes, links, source, whose),
        )


def _population(value: object, path: str, whose: str) -> int:
    amount = value if type(value) is int else number(value, path)
    if amount != int(amount):
        raise InvalidProblem(path, f"must be a whole number, but is {amount:g} ({whose})")
    if amount < 0:
        raise InvalidProblem(path, f"must not be negative, but is {amount:g} ({whose})")
    if amount > MAX_POPULATION:
        raise InvalidProblem(path, f"more than {MAX_POPULATION:,} consumers ({whose})")
    return int(amount)


def _classes(
    obj: object, resources: frozenset[str], nodes: frozenset[str], flows: frozenset[str]
) -> Iterator[ConsumerClass]:
    # Many classes share their costs and utility: each distinct one is checked and kept once.
    known_costs: dict[tuple[object, ...], dict[str, float]] = {}
    known_utilities: dict[tuple[object, ...], Utility] = {}
    for index, entry, class_id in _entries(obj, "classes", _CLASS_KEYS):
        flow, node, population = entry["flow"], entry["node"], entry["population_max"]
        if type(flow) is not str or flow not in flows:
            _refuse_reference(f"classes[{index}].flow", "flow", flow, class_id)
        if type(node) is not str or node not in nodes:
            _refuse_reference(f"classes[{index}].node", "node", node, class_id)
        if type(population) is not int or not 0 <= population <= MAX_POPULATION:
            population = _population(
                population, f"classes[{index}].population_max", f"class {shown(class_id)}"
            )
        costs = _shared(entry["costs"], known_costs)
        if costs is None:
            costs = _amounts(
                entry["costs"],
                f"classes[{index}].costs",
                resources,
                "resource",
                f"class {shown(class_id)}",
            )
            _share(entry["costs"], costs, known_costs)
        utility = _shared(entry["utility"], known_utilities)
        if utility is None:
            utility = _utility(entry["utility"], f"classes[{index}].utility", class_id)
            _share(entry["utility"], utility, known_utilities)
        yield ConsumerClass(
            id=class_id,
            flow=flow,
            node=node,
            population_max=population,
            costs=costs,
            utility=utility,
        )


def _utility(obj: object, path: str, class_id: str) -> Utility:
    try:
        return utility_from_dict(obj, path)
    except InvalidProblem as error:
        raise InvalidProblem(error.path, f"{error.message} (class {shown(class_id)})") from None


def _refuse_reference(path: str, what: str, value: object, class_id: str) -> None:
    if not isinstance(value, str):
        raise InvalidProblem(path, f"must be a string, not {shown(value)}")
    raise InvalidProblem(
        path, f"no {what} {shown(value)} (class {shown(class_id)}); {_add_or_correct(what)}"
    )


def _share_key(obj: object) -> tuple[object, ...] | None:
    """Equal only for objects with equal keys, values and value types (1 is not true)."""
    if type(obj) is not dict:
        return None
    values = tuple(obj.values())
    return (tuple(obj), values, tuple(map(type, values)))


def _shared(obj: object, known: Mapping[tuple[object, ...], T]) -> T | None:
    key = _share_key(obj)
    try:
        return known.get(key) if key is not None else None
    except TypeError:  # a list inside cannot be looked up
        return None


def _share(obj: object, value: T, known: dict[tuple[object, ...], T]) -> None:
    key = _share_key(obj)
    if key is not None and len(known) < MAX_SHARED:
        with contextlib.suppress(TypeError):
            known[key] = value
