"""Compare the models behind two allocations by their snapshots."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Plain = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """Describe one difference: `field` of `name`; values are None where an object was added or
    removed."""

    what: str
    """The kind of object: `node`, `link`, `flow` or `class`."""
    name: str
    field: str
    """The difference: `added`, `removed`, or a changed member such as `capacity`, `rate_min`,
    `population_max`."""
    detail: str = ""
    """The resource, node or link concerned; empty where the field is enough."""
    before: float | None = None
    after: float | None = None
    before_text: str = ""
    """The former value where it is not a number: a utility function, a broker."""
    after_text: str = ""


def model_changes(before: Plain, after: Plain) -> list[ModelChange]:
    """Return every difference between two problems in plain form (docs/formats.md, Allocation).

    Capacities come first because they most often move prices.
    """
    changes: list[ModelChange] = []
    for what, entries, compare in (
        ("node", "nodes", _node),
        ("link", "links", _link),
        ("flow", "flows", _flow),
        ("class", "classes", _class),
    ):
        old = {row["id"]: row for row in before[entries]}
        new = {row["id"]: row for row in after[entries]}
        for name in sorted(old.keys() | new.keys()):
            if name not in new:
                changes.append(ModelChange(what=what, name=name, field="removed"))
            elif name not in old:
                changes.append(ModelChange(what=what, name=name, field="added"))
            elif old[name] != new[name]:
                changes.extend(compare(name, old[name], new[name]))
    return changes


def _node(name: str, old: Plain, new: Plain) -> Iterator[ModelChange]:
    yield from _amounts("node", name, "capacity", old["capacity"], new["capacity"])


def _link(name: str, old: Plain, new: Plain) -> Iterator[ModelChange]:
    yield from _numbers("link", name, ("capacity",), old, new)


def _flow(name: str, old: Plain, new: Plain) -> Iterator[ModelChange]:
    yield from _numbers("flow", name, ("rate_min", "rate_max"), old, new)
    nodes_before, nodes_after = old["node_costs"], new["node_costs"]
    for node in sorted(nodes_before.keys() | nodes_after.keys()):
        for change in _amounts(
            "flow", name, "node_cost", nodes_before.get(node, {}), nodes_after.get(node, {})
        ):
            yield ModelChange(
                what="flow",
                name=name,
                field="node_cost",
                detail=f"{change.detail} at {node}",
                before=change.before,
                after=change.after,
            )
    yield from _amounts("flow", name, "link_cost", old["link_costs"], new["link_costs"])


def _class(name: str, old: Plain, new: Plain) -> Iterator[ModelChange]:
    yield from _numbers("class", name, ("population_max",), old, new)
    for field in ("flow", "node"):
        if old[field] != new[field]:
            yield ModelChange(
                what="class",
                name=name,
                field=field,
                before_text=old[field],
                after_text=new[field],
            )
    if old["utility"] != new["utility"]:
        yield ModelChange(
            what="class",
            name=name,
            field="utility",
            before_text=utility_text(old["utility"]),
            after_text=utility_text(new["utility"]),
        )
    yield from _amounts("class", name, "cost", old["costs"], new["costs"])


def _numbers(
    what: str, name: str, names: Sequence[str], old: Plain, new: Plain
) -> Iterator[ModelChange]:
    for field in names:
        if old[field] != new[field]:
            yield ModelChange(
                what=what, name=name, field=field, before=old[field], after=new[field]
            )


def _amounts(what: str, name: str, field: str, old: Plain, new: Plain) -> Iterator[ModelChange]:
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield ModelChange(
                what=what,
                name=name,
                field=field,
                detail=key,
                before=old.get(key),
                after=new.get(key),
            )


def utility_text(utility: Plain) -> str:
    """Return a text such as `log, weight 100` or `piecewise, 5 points`."""
    parts = [
        f"{len(value)} {key}" if isinstance(value, list) else f"{key} {_short(value)}"
        for key, value in utility.items()
        if key != "kind"
    ]
    return ", ".join([str(utility["kind"]), *parts])


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
