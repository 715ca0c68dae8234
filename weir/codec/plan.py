"""Plans as plain dicts and canonical bytes: the only parser of the plan format (version 1).

`plan_from_dict` refuses what does not fit with one InvalidProblem that names entry and field; the
SHA-256 of `plan_bytes` is what an approval is bound to. The order of steps and actions is part of
the plan, the order of keys is not; 10 and 10.0 msg/s are the same rate.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from weir.actions import brokers, inverse_steps, kind_of, protocol, setting_key
from weir.errors import InvalidProblem
from weir.model.plan import Action, Bound, LeftOut, Plan, Promise, Source, Step
from weir.reading import amount, each, encodable, items, mapping, members, number, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from weir.model.plan import Value

    T = TypeVar("T")

__all__ = [
    "inverse_steps",
    "plan_bytes",
    "plan_from_dict",
    "plan_to_dict",
    "steps_from_list",
    "steps_to_list",
]

FORMAT = 1
MAX_TEXT = 4000
MAX_SENTENCES = 200

_PLAN_KEYS = (
    "format",
    "kind",
    "system",
    "model_version",
    "snapshot_hash",
    "source",
    "title",
    "why",
    "steps",
    "envelope",
    "promise",
)
_OPTIONAL_KEYS = ("left_out", "pace_s")
"""Written only where there is something to say, so that older plans keep their hashes."""


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """The plain form that `plan_from_dict` reads and people export."""
    left_out = [
        {
            "kind": row.kind,
            "target": dict(row.target),
            "before": _value(row.before),
            "wanted": _value(row.wanted),
            "reason": row.reason,
            "because": row.because,
        }
        for row in plan.left_out
    ]
    return {
        **({"left_out": left_out} if left_out else {}),
        **({"pace_s": _float(plan.pace_s)} if plan.pace_s != 0 else {}),
        "format": FORMAT,
        "kind": plan.kind,
        "system": plan.system,
        "model_version": plan.model_version,
        "snapshot_hash": plan.snapshot_hash,
        "source": {"kind": plan.source.kind, "id": plan.source.id, "name": plan.source.name},
        "title": plan.title,
        "why": list(plan.why),
        "steps": steps_to_list(plan.steps),
        "envelope": [
            {
                "name": bound.name,
                "unit": bound.unit,
                "low": _float(bound.low),
                "high": _float(bound.high),
                "measured": None if bound.measured is None else _float(bound.measured),
            }
            for bound in plan.envelope
        ],
        "promise": [
            {
                "name": row.name,
                "unit": row.unit,
                "before": None if row.before is None else _float(row.before),
                "after": None if row.after is None else _float(row.after),
            }
            for row in plan.promise
        ],
    }


def steps_to_list(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    """The plain form of the steps alone."""
    return [
        {
            "actions": [
                {
                    "kind": action.kind,
                    "target": dict(action.target),
                    "before": _value(action.before),
                    "after": _value(action.after),
                    "effect": action.effect,
                }
                for action in step.actions
            ]
        }
        for step in steps
    ]


def plan_bytes(plan: Plan) -> bytes:
    """The plan as compact UTF-8 JSON with sorted keys; equal plans give equal bytes."""
    text = json.dumps(
        plan_to_dict(plan),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return text.encode()


def plan_from_dict(obj: object) -> Plan:
    """A checked plan. Raises InvalidProblem naming the entry."""
    top = _object(obj, "", *_PLAN_KEYS, optional=_OPTIONAL_KEYS)
    if top["format"] != FORMAT:
        raise InvalidProblem("format", f"must be {FORMAT}, not {shown(top['format'])}")
    source = _object(top["source"], "source", "kind", "id", "name")
    return Plan(
        kind=_text(top["kind"], "kind", required=True),
        system=_text(top["system"], "system", required=True),
        model_version=_count(top["model_version"], "model_version"),
        snapshot_hash=_text(top["snapshot_hash"], "snapshot_hash"),
        source=Source(
            kind=_text(source["kind"], "source.kind", required=True),
            id=_text(source["id"], "source.id"),
            name=_text(source["name"], "source.name"),
        ),
        title=_text(top["title"], "title", required=True),
        why=_each(top["why"], "why", lambda x, path: _text(x, path, required=True)),
        steps=steps_from_list(top["steps"]),
        envelope=_each(top["envelope"], "envelope", _bound),
        promise=_each(top["promise"], "promise", _promise),
        left_out=_each(top.get("left_out", []), "left_out", _left_out),
        pace_s=amount(top.get("pace_s", 0.0), "pace_s"),
    )


def steps_from_list(obj: object, path: str = "steps") -> tuple[Step, ...]:
    """Checked steps: at least one, each with actions that may run together."""
    steps = _each(obj, path, _step)
    if not steps:
        raise InvalidProblem(path, "must hold at least one step")
    _continuous(steps, path)
    return steps


def _step(obj: object, path: str) -> Step:
    actions = _each(_object(obj, path, "actions")["actions"], f"{path}.actions", _action)
    if not actions:
        raise InvalidProblem(f"{path}.actions", "must hold at least one action")
    settings: dict[tuple[str, str], int] = {}
    in_tree: dict[str, int] = {}
    for index, action in enumerate(actions):
        here = f"{path}.actions[{index}]"
        if protocol(action) == "setting":
            other = settings.setdefault(setting_key(action), index)
            if other != index:
                raise InvalidProblem(here, f"sets the same as actions[{other}]; keep one")
            continue
        for broker in brokers(action):
            other = in_tree.setdefault(broker, index)
            if other != index:
                raise InvalidProblem(
                    here,
                    f"broker {shown(broker)} takes part in actions[{other}] too; "
                    "put one of them into another step",
                )
    return Step(actions=actions)


def _action(obj: object, path: str) -> Action:
    plain = _object(obj, path, "kind", "target", "before", "after", "effect")
    action = Action(
        kind=_text(plain["kind"], f"{path}.kind", required=True),
        target=_members(plain["target"], f"{path}.target"),
        before=_members(plain["before"], f"{path}.before", optional=True),
        after=_members(plain["after"], f"{path}.after", optional=True),
        effect=_text(plain["effect"], f"{path}.effect"),
    )
    try:
        kind_of(action).validate(action)
    except InvalidProblem as error:
        raise error.below(path) from None
    return Action(
        kind=action.kind,
        target=action.target,
        before=_value(action.before),
        after=_value(action.after),
        effect=action.effect,
    )


def _continuous(steps: tuple[Step, ...], path: str) -> None:
    """What a step expects to find is what an earlier one left."""
    left: dict[tuple[str, str], tuple[int, Value | None]] = {}
    for s, step in enumerate(steps):
        for a, action in enumerate(step.actions):
            if protocol(action) != "setting":
                continue
            key = setting_key(action)
            if key in left and left[key][1] != action.before:
                raise InvalidProblem(
                    f"{path}[{s}].actions[{a}].before", f"is not what step {left[key][0]} leaves"
                )
            left[key] = (s, action.after)


def _bound(obj: object, path: str) -> Bound:
    plain = _object(obj, path, "name", "unit", "low", "high", "measured")
    low, high = number(plain["low"], f"{path}.low"), number(plain["high"], f"{path}.high")
    if low > high:
        raise InvalidProblem(f"{path}.low", f"{low:g} is above high {high:g}")
    return Bound(
        name=_text(plain["name"], f"{path}.name", required=True),
        unit=_text(plain["unit"], f"{path}.unit"),
        low=low,
        high=high,
        measured=_optional(plain["measured"], f"{path}.measured"),
    )


def _promise(obj: object, path: str) -> Promise:
    plain = _object(obj, path, "name", "unit", "before", "after")
    return Promise(
        name=_text(plain["name"], f"{path}.name", required=True),
        unit=_text(plain["unit"], f"{path}.unit"),
        before=_optional(plain["before"], f"{path}.before"),
        after=_optional(plain["after"], f"{path}.after"),
    )


def _left_out(obj: object, path: str) -> LeftOut:
    names = ("kind", "target", "before", "wanted", "reason", "because")
    plain = _object(obj, path, *names)
    # Held against the same rules as a change that is made.
    action = _action(
        {
            "kind": plain["kind"],
            "target": plain["target"],
            "before": plain["before"],
            "after": plain["wanted"],
            "effect": "",
        },
        path,
    )
    return LeftOut(
        kind=action.kind,
        target=action.target,
        before=action.before,
        wanted=action.after,
        reason=_text(plain["reason"], f"{path}.reason", required=True),
        because=_text(plain["because"], f"{path}.because", required=True),
    )


def _object(obj: object, path: str, *keys: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return dict(members(_members(obj, path), path, keys, optional))


def _members(obj: object, path: str, *, optional: bool = False) -> Any:
    if optional and obj is None:
        return None
    found = mapping(obj, path)
    for key in found:
        if not isinstance(key, str):
            raise InvalidProblem(path, f"keys must be text, not {shown(key)}")
    return dict(found)


def _each(obj: object, path: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
    if path == "why" and len(items(obj, path)) > MAX_SENTENCES:
        raise InvalidProblem(path, f"more than {MAX_SENTENCES} sentences")
    return each(obj, path, read)


def _text(value: object, path: str, *, required: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidProblem(path, f"must be text, not {shown(value)}")
    if required and not value.strip():
        raise InvalidProblem(path, "must not be empty")
    if len(value) > MAX_TEXT:
        raise InvalidProblem(path, f"longer than {MAX_TEXT} characters")
    return encodable(value, path)


def _count(value: object, path: str) -> int:
    count = number(value, path)
    if count != int(count) or count < 0:
        raise InvalidProblem(path, f"must be a whole number of at least 0, not {shown(value)}")
    return int(count)


def _optional(value: object, path: str) -> float | None:
    return None if value is None else number(value, path)


def _float(amount: float) -> float:
    return float(amount) + 0.0


def _value(value: Value | None) -> dict[str, Any] | None:
    """One spelling: names and lists of names as they are, limits whole numbers, every other number
    a float."""
    return None if value is None else {key: _member(key, each) for key, each in value.items()}


def _member(key: str, member: Any) -> str | float | int | list[str]:
    if isinstance(member, str):
        return member
    if isinstance(member, list | tuple):
        return list(member)
    return int(member) if key == "limit" else _float(member)
