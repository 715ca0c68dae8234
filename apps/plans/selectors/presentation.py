"""Present a plan's document to people: steps with titles, and one row per changed number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from apps.common.formatting import counted
from apps.executions.selectors import value_shown
from apps.executions.selectors.flow_map import MEMBERS, changes_map
from apps.executions.selectors.modelled import STRUCTURE
from apps.plans.selectors.model_state import structure_words
from weir import actions
from weir.actions import SettingKey
from weir.actions.adapt_parts import KIND as ORDER
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.set_bucket import COUNT, ENFORCE
from weir.actions.set_bucket import KIND as BUCKET
from weir.model.plan import Action, Value
from weir.model.plan import Plan as Document

UNITS = {"rate_per_s": "msg/s", "burst": "msg", "size": "msg", "limit": "consumers"}
MEASURED_UNITS = ("msg/s", "consumers")
LINK = "link"
NAMES_SHOWN = 50
"""The names of publishers that a page shows of one change; the exported plan has all."""
MODES = {ENFORCE: "enforced", COUNT: "only counted"}

Subject = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Describe one number before and after; None: not enforced. A link counts 1 where it is, else
    0.

    What is no number, such as a flow's ingress, stands in `was` and `becomes` as text instead; so
    does `not served` in the place of a limit where there is nothing to limit.
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
    measured: float | None = None
    """What agents measure now of what is limited: consumers connected, msg/s passed."""


def step_rows(document: Document) -> list[dict[str, Any]]:
    """Return every step with what each of its actions does and how it would be undone."""
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
                    "before": value_shown(action.before),
                    "after": value_shown(action.after),
                    "effect": action.effect,
                    "publishers": publishers_changed(action),
                }
                for a, action in enumerate(step.actions)
            ],
        }
        for s, step in enumerate(document.steps)
    ]


def publishers_changed(action: Action) -> dict[str, Any] | None:
    """Return how many publishers a changed list releases and lets in, and the first of their names;
    None for other actions, and where a list ends."""
    if action.kind != PUBLISHERS or action.after is None:
        return None
    before = set(() if action.before is None else action.before["publishers"])
    after = set(action.after["publishers"])
    released, let_in = sorted(before - after), sorted(after - before)
    return {
        "released": len(released),
        "released_names": released[:NAMES_SHOWN],
        "let_in": len(let_in),
        "let_in_names": let_in[:NAMES_SHOWN],
        "is_first": action.before is None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Describe one number that was proposed to change and does not."""

    kind: str
    label: str
    unit: str
    before: float | None
    wanted: float | None
    reason: str
    because: str


def left_out(document: Document) -> list[LeftOut]:
    """Return what was proposed and is not done, in the order of the document."""
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
    label = target.get("class") or target.get("flow") or target.get("stream") or otherwise
    return f"{label} at {target['broker']}" if target.get("broker") else label


NOTHING: Mapping[SettingKey, float] = {}


def changes(document: Document, measured: Mapping[SettingKey, float] = NOTHING) -> list[Change]:
    """Return what will be different afterwards, in the order of the steps. `measured`: what agents
    measure now of what a setting limits."""
    begun, ended = _begun_and_ended(document)
    return [
        _in_words(
            change,
            was=begun.get(_subject(action), ""),
            becomes=ended.get(_subject(action), ""),
            measured=measured.get(actions.setting_key(action))
            if change.unit in MEASURED_UNITS
            else None,
        )
        for s, step in enumerate(document.steps)
        for action in step.actions
        for change in _changes(action, s)
    ]


def _begun_and_ended(document: Document) -> tuple[dict[Subject, str], dict[Subject, str]]:
    """Return the flows and classes that the plan begins, and ends, to carry or to serve, with what
    they are without."""
    begun: dict[Subject, str] = {}
    ended: dict[Subject, str] = {}
    for step in document.steps:
        for action in step.actions:
            if action.kind not in STRUCTURE:
                continue
            words = structure_words(action.kind, None)
            if action.before is None:
                begun.setdefault(_subject(action), words)
            if action.after is None:
                ended[_subject(action)] = words
            else:
                ended.pop(_subject(action), None)
    return begun, ended


def _subject(action: Action) -> Subject:
    """Return the class at its broker, or the flow, that an action is about."""
    if "class" in action.target:
        return "class", action.target["class"], action.target["broker"]
    return "flow", action.target.get("flow", ""), ""


def _in_words(change: Change, *, was: str, becomes: str, measured: float | None) -> Change:
    """Return a limit with words in the place of a missing number where nothing is carried or
    served: only elsewhere that means that nothing limits it."""
    if change.unit not in UNITS.values():
        return change
    return replace(
        change,
        was=(was or change.was) if change.before is None else "",
        becomes=(becomes or change.becomes) if change.after is None else "",
        measured=measured,
    )


def _changes(action: Action, step: int) -> list[Change]:
    if actions.protocol(action) == "tree":
        return _edges(action, step)
    if action.kind in STRUCTURE:
        return [_words(action, step, partial(structure_words, action.kind))]
    if action.kind == BUCKET:
        return _part(action, step)
    if action.kind == PUBLISHERS:
        return [_words(action, step, publishers_words)]
    if action.kind == ORDER:
        return [_words(action, step, order_words)]
    if changes_map(action):
        return [_words(action, step, partial(place_words, action.kind))]
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


def _words(action: Action, step: int, words: Callable[[Value | None], str]) -> Change:
    """Return a change in one row of text: what these words say of the values before and after."""
    return Change(
        kind=action.kind,
        label=_label(action.target, actions.title(action)),
        unit="",
        before=None,
        after=None,
        step=step,
        reason=action.effect,
        was=words(action.before),
        becomes=words(action.after),
    )


def publishers_words(value: Value | None) -> str:
    """Return how many publishers a list names; the titles of actions say how many come and go."""
    return "no list" if value is None else counted(len(value["publishers"]), "publisher")


def place_words(kind: str, value: Value | None) -> str:
    """Return where a map has a flow or a stream, such as `stream s-3`."""
    where = MEMBERS[kind][1]
    return f"no {where}" if value is None else actions.called(where, value[where])


def order_words(value: Value | None) -> str:
    """Return how an order adapts parts, such as `every 1 s by 10 s, idle 2 %, 3 brokers`."""
    if value is None:
        return "parts stay"
    return (
        f"every {value['period_s']:g} s by {value['window_s']:g} s, idle "
        f"{100 * value['least_share']:g} %, {counted(len(value['brokers']), 'broker')}"
    )


def _part(action: Action, step: int) -> list[Change]:
    """Return the changes of a part of a bucket: its two numbers, and whether it is only counted."""
    before, after = action.before or {}, action.after or {}
    label = _label(action.target, actions.title(action))
    rows = [
        Change(
            kind=action.kind,
            label=label,
            unit=UNITS[name],
            before=before.get(name),
            after=after.get(name),
            step=step,
            reason=action.effect,
            was="no part",
            becomes="no part",
        )
        for name in ("rate_per_s", "size")
        if before.get(name) != after.get(name)
    ]
    if before and after and before["mode"] != after["mode"]:
        rows.append(
            Change(
                kind=action.kind,
                label=label,
                unit="",
                before=None,
                after=None,
                step=step,
                reason=action.effect,
                was=MODES[before["mode"]],
                becomes=MODES[after["mode"]],
            )
        )
    return rows


def _edges(action: Action, step: int) -> list[Change]:
    """Return the links that an action removes and adds, whatever its kind."""
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
    """Return the edges that a tree action removes and adds on the smallest tree it fits on."""
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
    """Return the links of those that are gone. Of several that hang together the target does not
    say which of them had which neighbour; they are shown as one."""
    gone = sorted(actions.absent(action))
    ring = [b for b in actions.brokers(action) if b not in gone]
    pairs = [*pairwise(gone), *((gone[0], broker) for broker in ring)]
    return frozenset(actions.edge(a, b) for a, b in pairs)
