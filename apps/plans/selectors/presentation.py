"""A plan's document as people read it: steps with titles, and one row per changed number."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from apps.executions.selectors.modelled import STRUCTURE
from apps.plans.selectors.model_state import structure_words
from weir import actions
from weir.model.plan import Action
from weir.model.plan import Plan as Document

UNITS = {"rate_per_s": "msg/s", "burst": "msg", "limit": "consumers"}
LINK = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One number before and after; None: not enforced. A link counts 1 where it is, else 0.

    What is no number, such as a flow's ingress, stands in `was` and `becomes` as text instead.
    """

    kind: str
    label: str
    unit: str
    before: float | None
    after: float | None
    step: int
    reason: str
    was: str = ""
    becomes: str = ""


def step_rows(document: Document) -> list[dict[str, Any]]:
    """Every step with what each of its actions does and how it would be undone."""
    return [
        {
            "index": s,
            "actions": [
                {
                    "index": a,
                    "kind": action.kind,
                    "title": actions.title(action),
                    "undo_title": actions.undo_title(action),
                    "brokers": list(actions.brokers(action)),
                    "target": dict(action.target),
                    "before": None if action.before is None else dict(action.before),
                    "after": None if action.after is None else dict(action.after),
                    "effect": action.effect,
                }
                for a, action in enumerate(step.actions)
            ],
        }
        for s, step in enumerate(document.steps)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One number that was proposed to change and does not."""

    kind: str
    label: str
    unit: str
    before: float | None
    wanted: float | None
    reason: str
    because: str


def left_out(document: Document) -> list[LeftOut]:
    """What was proposed and is not done, in the order of the document."""
    return [
        LeftOut(
            kind=row.kind,
            label=_label(row.target, row.kind),
            unit=UNITS[name],
            before=None if row.before is None else row.before[name],
            wanted=None if row.wanted is None else row.wanted[name],
            reason=row.reason,
            because=row.because,
        )
        for row in document.left_out
        for name in ("rate_per_s", "limit")
        if name in {**(row.before or {}), **(row.wanted or {})}
    ]


def _label(target: Mapping[str, str], otherwise: str) -> str:
    label = target.get("class") or target.get("flow") or otherwise
    return f"{label} at {target['broker']}" if target.get("broker") else label


def changes(document: Document) -> list[Change]:
    """What will be different afterwards, in the order of the steps."""
    return [
        change
        for s, step in enumerate(document.steps)
        for action in step.actions
        for change in _changes(action, s)
    ]


def _changes(action: Action, step: int) -> list[Change]:
    if actions.protocol(action) == "tree":
        return _edges(action, step)
    if action.kind in STRUCTURE:
        return [_structural(action, step)]
    before, after = action.before or {}, action.after or {}
    label = _label(action.target, actions.title(action))
    return [
        Change(
            kind=action.kind,
            label=label,
            unit=UNITS.get(name, ""),
            before=before.get(name),
            after=after.get(name),
            step=step,
            reason=action.effect,
        )
        for name in sorted({*before, *after}, reverse=True)
        if before.get(name) != after.get(name)
    ]


def _structural(action: Action, step: int) -> Change:
    """A flow that is carried otherwise, or a class served otherwise, in one row of text."""

    return Change(
        kind=action.kind,
        label=_label(action.target, actions.title(action)),
        unit="",
        before=None,
        after=None,
        step=step,
        reason=action.effect,
        was=structure_words(action.kind, action.before),
        becomes=structure_words(action.kind, action.after),
    )


def _edges(action: Action, step: int) -> list[Change]:
    """The links that an action takes away and adds, whatever its kind."""
    gone, come = tree_change(action)
    return [
        Change(
            kind=action.kind,
            label=f"{a}-{b}",
            unit=LINK,
            before=float(was),
            after=float(not was),
            step=step,
            reason=action.effect,
        )
        for was, edges in ((True, gone), (False, come))
        for a, b in edges
    ]


def tree_change(action: Action) -> tuple[list[actions.Edge], list[actions.Edge]]:
    """Edges that a tree action removes and adds: what it does to the smallest tree it fits on."""
    if actions.is_final(action):
        before = _around(action)
        after = actions.kind_of(action).apply_edges(before, action)
        return sorted(before - after), sorted(after - before)
    undo = actions.inverse(action)
    after = actions.kind_of(action).apply_edges(_fitting(action), action)
    before = actions.kind_of(undo).apply_edges(after, undo)
    return sorted(before - after), sorted(after - before)


def _fitting(action: Action) -> frozenset[actions.Edge]:
    role = actions.roles(action)
    path = [role[name] for name in ("i", "j", "k") if name in role]
    if "j" not in role:
        return frozenset()
    return frozenset(actions.edge(a, b) for a, b in pairwise(path))


def _around(action: Action) -> frozenset[actions.Edge]:
    """The links of those that are gone. Of several that hang together the target does not say
    which of them had which neighbour; they are shown as one."""
    gone = sorted(actions.absent(action))
    ring = [b for b in actions.brokers(action) if b not in gone]
    pairs = [*pairwise(gone), *((gone[0], broker) for broker in ring)]
    return frozenset(actions.edge(a, b) for a, b in pairs)
