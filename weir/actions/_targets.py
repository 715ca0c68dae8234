"""Names of settings, and the checks that targets and values share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weir.errors import InvalidProblem
from weir.reading import number, shown

if TYPE_CHECKING:
    from weir.actions._protocol import Edge
    from weir.model.plan import Action, Value

SettingKey = tuple[str, str]
"""Kind and `target_key` of a setting: unique within a system."""

MAX_NAME_LENGTH = 1000
MAX_LIMIT = 2**53
UNDOES = "Undoes: "


def target_key(target: Mapping[str, str]) -> str:
    """Write a target as compact JSON with sorted keys, so that equal targets have equal keys."""
    return json.dumps(dict(target), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def target_of(key: SettingKey) -> dict[str, str]:
    """The target that a setting is kept under."""
    target: dict[str, str] = json.loads(key[1])
    return target


def setting_key(action: Action) -> SettingKey:
    """Return the name under which the setting that the action changes is stored."""
    return action.kind, target_key(action.target)


def edge(a: str, b: str) -> Edge:
    """Return the edge between two brokers, whichever is given first."""
    return (a, b) if a <= b else (b, a)


def check_target(action: Action, *names: str) -> None:
    """Raise InvalidProblem unless the target has exactly these members and each is a name."""
    check_members(action.target, "target", *names)
    for name in names:
        check_name(action.target[name], f"target.{name}")


def check_name(value: object, path: str) -> None:
    """Raise InvalidProblem unless the value is a text of 1 to `MAX_NAME_LENGTH` characters."""
    if not isinstance(value, str):
        raise InvalidProblem(path, f"must be a name, not {shown(value)}")
    if not value or len(value) > MAX_NAME_LENGTH:
        raise InvalidProblem(path, f"must have 1 to {MAX_NAME_LENGTH} characters")


def check_members(obj: object, path: str, *names: str) -> None:
    """Raise InvalidProblem unless `obj` is an object with exactly these members."""
    if not isinstance(obj, Mapping):
        raise InvalidProblem(path, f"must be an object, not {shown(obj)}")
    wanted = ", ".join(names)
    for key in obj:
        if key not in names:
            raise InvalidProblem(path, f"unknown key {shown(key)}; known are {wanted}")
    for name in names:
        if name not in obj:
            raise InvalidProblem(path, f'missing key "{name}"; add it')


def same_value(one: Value | None, other: Value | None) -> bool:
    """Return whether two values of a setting are equal; a list equals a tuple of the same names,
    because JSON has lists alone."""
    if one is None or other is None:
        return one is other
    return _listed(one) == _listed(other)


def _listed(value: Value) -> dict[str, Any]:
    return {
        name: list(member) if isinstance(member, tuple) else member
        for name, member in value.items()
    }


def check_different(action: Action) -> None:
    """Raise InvalidProblem where the values before and after are equal."""
    if same_value(action.before, action.after):
        raise InvalidProblem("after", "equals before; leave the action out")


def check_no_values(action: Action) -> None:
    """Raise InvalidProblem where a tree action has values: its target says everything."""
    for name, value in (("before", action.before), ("after", action.after)):
        if value is not None:
            raise InvalidProblem(name, f"must be null, not {shown(value)}")


def not_negative(value: object, path: str) -> float:
    """Return the value as a finite number of at least 0; raise InvalidProblem otherwise."""
    amount = number(value, path)
    if amount < 0:
        raise InvalidProblem(path, f"must not be negative, but is {amount:g}")
    return amount


def undone_effect(effect: str) -> str:
    """Describe the effect of the inverse; applied twice, it returns the first text."""
    if not effect:
        return ""
    if effect.startswith(UNDOES) and effect != UNDOES:
        return effect.removeprefix(UNDOES)
    return UNDOES + effect


def swapped(action: Action) -> Action:
    """Return the inverse of a setting, with the values before and after exchanged."""
    return replace(
        action, before=action.after, after=action.before, effect=undone_effect(action.effect)
    )


def plain(amount: float) -> str:
    """Format a number for a title: with thousands separators, and an exponent only below 0.001 or
    from 1e15."""
    if amount == int(amount) and abs(amount) < 1e15:
        return f"{int(amount):,}"
    if 0.001 <= abs(amount) < 1e15:
        digits = max(0, 3 if abs(amount) < 1 else 2 if abs(amount) < 100 else 1)
        return f"{amount:,.{digits}f}"
    return f"{amount:.4g}"
