"""Steps carried out on paper: what would be in force after them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.actions._registry import kind_of
from weir.actions._targets import same_value, setting_key
from weir.errors import InvalidProblem
from weir.reading import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weir.actions._protocol import Edge
    from weir.actions._targets import SettingKey
    from weir.model.plan import Action, Step, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """What is in force in a system; a setting that is not enforced is absent."""

    settings: Mapping[SettingKey, Value] = field(default_factory=dict)
    edges: frozenset[Edge] = frozenset()


def replay(in_force: InForce, steps: Sequence[Step]) -> InForce:
    """What is in force after the steps.

    Raises InvalidProblem that names the action (`steps[1].actions[0]`) whose `before` is not what
    it would find, or whose edge is not there.
    """
    settings = dict(in_force.settings)
    edges = in_force.edges
    for s, step in enumerate(steps):
        for a, action in enumerate(step.actions):
            try:
                edges = _apply(settings, edges, action)
            except InvalidProblem as error:
                raise error.below(f"steps[{s}].actions[{a}]") from None
    return InForce(settings=settings, edges=edges)


def _apply(
    settings: dict[SettingKey, Value], edges: frozenset[Edge], action: Action
) -> frozenset[Edge]:
    kind = kind_of(action)
    if kind.PROTOCOL == "tree":
        return kind.apply_edges(edges, action)
    key = setting_key(action)
    found = settings.get(key)
    if not same_value(found, action.before):
        wanted, present = _said(action.before), _said(found)
        others = " with other names" if wanted == present else ""
        raise InvalidProblem(
            "before", f"is {wanted}, but {present}{others} is in force; plan again"
        )
    if action.after is None:
        settings.pop(key, None)
    else:
        settings[key] = action.after
    return edges


def _said(value: Value | None) -> str:
    if value is None:
        return "nothing"
    return ", ".join(
        f"a list of {len(member):,} {name}"
        if isinstance(member, list | tuple)
        else f"{name} {shown(member)}"
        for name, member in sorted(value.items())
    )
