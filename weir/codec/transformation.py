"""Overlay transformations and their plans as plain dicts (topology format, version 1).

The only parser of docs/formats.md. What does not fit is refused with one InvalidProblem that
names the entry and the next move.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast, get_args

from weir.actions import edge
from weir.codec.json_text import object_from_json
from weir.codec.transformation_options import options_from_dict, options_to_dict
from weir.errors import InvalidProblem
from weir.model.transformation import Move, Op, Status, Transformation, TransformationPlan
from weir.reading import items, members, number, shown, whole
from weir.transformation.trees import check_tree

if TYPE_CHECKING:
    from weir.model.transformation import Edge, Steps

MAX_BROKERS = 1_000_000
MAX_ID_LENGTH = 1000
_TOP_KEYS = ("brokers", "initial", "goal")
_MEMBERS = {
    "shift": ("broker", "from", "to"),
    "append": ("broker", "to"),
    "detach": ("broker", "from"),
    "move": ("broker", "from", "to"),
    "exchange": ("broker", "from", "at", "to"),
}
_PLAN_KEYS = (
    "status",
    "steps",
    "actions",
    "lower_bound_actions",
    "lower_bound_steps",
    "planner",
    "runtime_s",
)


def transformation_from_json(raw: bytes) -> Transformation:
    """A checked problem from the bytes of a file."""
    return transformation_from_dict(object_from_json(raw))


def transformation_from_dict(obj: object) -> Transformation:
    """A checked problem from plain data; both trees are trees and every option can be kept."""
    top = members(obj, "", _TOP_KEYS, ("options",))
    brokers = _brokers(top["brokers"])
    known = frozenset(brokers)
    initial = _tree(top["initial"], "initial", known)
    goal = _tree(top["goal"], "goal", known)
    problem = Transformation(brokers=brokers, initial=initial, goal=goal)
    homeless = sorted(known - problem.initial_brokers - problem.goal_brokers)
    if homeless:
        at = brokers.index(homeless[0])
        raise InvalidProblem(
            f"brokers[{at}]",
            f'"{homeless[0]}" is in neither initial nor goal; link it or leave it out',
        )
    return Transformation(
        brokers=brokers,
        initial=initial,
        goal=goal,
        options=options_from_dict(top.get("options", {}), problem),
    )


def transformation_to_dict(problem: Transformation) -> dict[str, Any]:
    """The plain form, sorted, so that equal problems give equal text."""
    return {
        "brokers": sorted(problem.brokers),
        "initial": [list(link) for link in sorted(problem.initial)],
        "goal": [list(link) for link in sorted(problem.goal)],
        "options": options_to_dict(problem.options),
    }


def transformation_bytes(problem: Transformation) -> bytes:
    """Canonical bytes: they do not depend on the order of the input."""
    text = json.dumps(
        transformation_to_dict(problem), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return text.encode()


def move_to_dict(move: Move) -> dict[str, str]:
    """Only the members that the action has."""
    values = {"broker": move.broker, "from": move.source, "to": move.to, "at": move.at}
    return {"op": move.op, **{name: values[name] or "" for name in _MEMBERS[move.op]}}


def move_from_dict(obj: object, path: str) -> Move:
    """One action, its members checked, not whether it applies."""
    if not isinstance(obj, dict):
        raise InvalidProblem(path, f"must be an object, not {shown(obj)}")
    op = obj.get("op")
    if not isinstance(op, str) or op not in _MEMBERS:
        raise InvalidProblem(
            f"{path}.op", f"no action {shown(op)}; known are {', '.join(_MEMBERS)}"
        )
    row = members(obj, path, ("op", *_MEMBERS[op]))
    for name in _MEMBERS[op]:
        _name(row[name], f"{path}.{name}")
    return Move(
        op=cast("Op", op),
        broker=row["broker"],
        source=row.get("from"),
        to=row.get("to"),
        at=row.get("at"),
    )


def steps_to_list(steps: Steps) -> list[list[dict[str, str]]]:
    """The plain form of the steps."""
    return [[move_to_dict(move) for move in step] for step in steps]


def steps_from_list(obj: object, path: str = "steps") -> Steps:
    """Steps of actions from plain lists."""
    return tuple(
        tuple(
            move_from_dict(action, f"{path}[{s}][{a}]")
            for a, action in enumerate(items(step, f"{path}[{s}]"))
        )
        for s, step in enumerate(items(obj, path))
    )


def transformation_plan_to_dict(
    plan: TransformationPlan, *, priced: bool = False
) -> dict[str, Any]:
    """The published result: exactly the members of docs/formats.md.

    `priced` adds what the plan costs, for problems with prices; an infeasible one says why.
    """
    published: dict[str, Any] = {
        "status": plan.status,
        "steps": steps_to_list(plan.steps),
        "actions": plan.actions,
        "lower_bound_actions": plan.lower_bound_actions,
        "lower_bound_steps": plan.lower_bound_steps,
        "planner": plan.planner,
        "runtime_s": plan.runtime_s,
    }
    if priced:
        published |= {"cost": plan.cost, "lower_bound_cost": plan.lower_bound_cost}
    if plan.status == "infeasible":
        published["reason"] = plan.reason
    return published


def transformation_plan_from_dict(obj: object) -> TransformationPlan:
    """A result as published. Raises InvalidProblem naming the member."""
    required, optional = _PLAN_KEYS[:3], _PLAN_KEYS[3:]
    top = members(obj, "", required, (*optional, "cost", "lower_bound_cost", "reason"))
    if top["status"] not in get_args(Status):
        raise InvalidProblem("status", f"no status {shown(top['status'])}")
    steps = steps_from_list(top["steps"])
    actions = whole(top["actions"], "actions")
    if actions != sum(map(len, steps)):
        raise InvalidProblem("actions", f"is {actions}, but the steps have {sum(map(len, steps))}")
    return TransformationPlan(
        status=top["status"],
        steps=steps,
        lower_bound_actions=whole(top.get("lower_bound_actions", 0), "lower_bound_actions"),
        lower_bound_steps=whole(top.get("lower_bound_steps", 0), "lower_bound_steps"),
        planner=str(top.get("planner", "")),
        runtime_s=number(top.get("runtime_s", 0.0), "runtime_s"),
        cost=number(top.get("cost", 0.0), "cost"),
        lower_bound_cost=number(top.get("lower_bound_cost", 0.0), "lower_bound_cost"),
        reason=str(top.get("reason", "")),
    )


def _brokers(obj: object) -> tuple[str, ...]:
    names = items(obj, "brokers")
    if not 1 <= len(names) <= MAX_BROKERS:
        raise InvalidProblem("brokers", f"give 1 to {MAX_BROKERS:,} of them, not {len(names):,}")
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        _name(name, f"brokers[{at}]")
        if name in seen:
            raise InvalidProblem(
                f"brokers[{at}]", f"{shown(name)} is brokers[{seen[name]}] already; name it once"
            )
        seen[name] = at
    return tuple(names)


def _tree(obj: object, name: str, known: frozenset[str]) -> frozenset[Edge]:
    links: dict[Edge, int] = {}
    for at, pair in enumerate(items(obj, name)):
        path = f"{name}[{at}]"
        ends = items(pair, path)
        if len(ends) != 2:
            raise InvalidProblem(path, f"must be a pair of brokers, not {len(ends)} entries")
        for end in ends:
            _name(end, path)
            if end not in known:
                raise InvalidProblem(path, f"no broker {shown(end)}; add it to brokers")
        if ends[0] == ends[1]:
            raise InvalidProblem(path, f"links {shown(ends[0])} to itself; leave it out")
        link = edge(*ends)
        if link in links:
            raise InvalidProblem(path, f"the link is {name}[{links[link]}] already; name it once")
        links[link] = at
    check_tree(links, name)
    return frozenset(links)


def _name(value: object, path: str) -> None:
    if not isinstance(value, str):
        raise InvalidProblem(path, f"must be a string, not {shown(value)}")
    if not 1 <= len(value) <= MAX_ID_LENGTH:
        raise InvalidProblem(path, f"must have 1 to {MAX_ID_LENGTH} characters")
