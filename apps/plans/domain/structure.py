"""Compare what the model asks of agents with what is in force, and express the difference as
actions.

The order is what makes it safe. Classes leave and limits fall first. Then flows begin, change and
end: nobody receives one any more that ends, and the gate of one that begins already stands. Then
classes are served, each with its limit in place. What gives more comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.executions.selectors.modelled import CLASS, FLOW, STRUCTURE
from apps.plans.domain.naming import listed
from weir.actions import SettingKey, is_takeaway, target_of
from weir.model.plan import Action, Step, Value

if TYPE_CHECKING:
    from apps.executions.selectors.modelled import Asked

RELIABLE = "reliable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Hold what agents do not do yet as the model has it."""

    leave: tuple[Action, ...] = ()
    """Classes that are served no longer."""
    flows: tuple[Action, ...] = ()
    """Flows that begin, change or end."""
    serve: tuple[Action, ...] = ()
    """Classes that are served anew, or with another flow."""

    def __bool__(self) -> bool:
        return bool(self.leave or self.flows or self.serve)

    @property
    def actions(self) -> tuple[Action, ...]:
        """Return the actions of all kinds."""
        return (*self.leave, *self.flows, *self.serve)


def difference(
    asked: Mapping[SettingKey, Asked], in_force: Mapping[SettingKey, Value]
) -> Difference:
    """Return the difference between what is in force and what the model asks for."""
    actions = []
    for key in sorted({*asked, *(key for key in in_force if key[0] in STRUCTURE)}):
        kind, before = key[0], in_force.get(key)
        wanted = asked.get(key)
        after = None if wanted is None else wanted.value
        if before != after:
            target = target_of(key)
            effect = _effect(kind, target, before, after)
            actions.append(
                Action(kind=kind, target=target, before=before, after=after, effect=effect)
            )
    return Difference(
        leave=tuple(a for a in actions if a.kind == CLASS and a.after is None),
        flows=tuple(a for a in actions if a.kind == FLOW),
        serve=tuple(a for a in actions if a.kind == CLASS and a.after is not None),
    )


def arranged(found: Difference, settings: Sequence[Action]) -> tuple[Step, ...]:
    """Return the steps of a plan that brings the difference and these changes of rates and
    limits."""
    takes = tuple(action for action in settings if is_takeaway(action))
    gives = tuple(action for action in settings if not is_takeaway(action))
    steps = ((*found.leave, *takes), found.flows, found.serve, gives)
    return tuple(Step(actions=actions) for actions in steps if actions)


def _effect(kind: str, target: Mapping[str, str], before: Value | None, after: Value | None) -> str:
    if kind == CLASS:
        who = f"Consumers of {target['class']}"
        if after is None:
            return f"{who} are let go and not let in again."
        if before is None:
            return f"{who} may connect at {target['broker']} and receive {after['flow']}."
        return f"{who} receive {after['flow']} from then on, and no longer {before['flow']}."
    flow = target["flow"]
    if after is None:
        return f"Publishers of {flow} are refused; nothing of it is delivered any more."
    if before is None:
        where = f"to {after['broker']}" if after["broker"] else "nowhere yet"
        return f"Publishers of {flow} may send {where}."
    if before["broker"] != after["broker"]:
        return f"Publishers of {flow} have to send to {after['broker'] or 'nowhere'} from then on."
    return f"What publishers of {flow} send from then on is {_promise(after)}."


def _promise(value: Value) -> str:
    return str(value["delivery"]).replace("_", " ")


def reasons(found: Difference) -> tuple[str, ...]:
    """Return what a reviewer has to know of the difference: what changes, and what may be lost by
    it."""
    sentences = []
    if found:
        sentences.append(f"The model asks for what agents do not do yet: {counted(found)}.")
    moved = [a for a in found.flows if a.before and a.after and _moves(a.before, a.after)]
    for action in moved:
        if action.before and action.before["delivery"] == RELIABLE and action.before["broker"]:
            old, flow = action.before["broker"], action.target["flow"]
            sentences.append(
                f"Reliable messages of {flow} that {old} has acknowledged and not handed on when "
                f"its ingress moves wait at {old} and are not delivered: stop its publishers and "
                "let it drain first."
            )
    weaker = _flows(
        a
        for a in found.flows
        if a.before and a.after and a.before["delivery"] == RELIABLE != a.after["delivery"]
    )
    if weaker:
        sentences.append(f"{listed(weaker)} may lose messages from then on: best effort.")
    ended = _flows(a for a in found.flows if a.after is None)
    if ended:
        sentences.append(
            f"{listed(ended)} {'ends' if len(ended) == 1 else 'end'}: messages that wait are not "
            "delivered, and publishers are refused."
        )
    left = tuple(f"{a.target['class']} at {a.target['broker']}" for a in found.leave)
    if left:
        sentences.append(
            f"Consumers of {listed(left)} are let go; what waits for them is not delivered."
        )
    return tuple(sentences)


def _moves(before: Value, after: Value) -> bool:
    return bool(before["broker"] != after["broker"])


def _flows(actions: Iterable[Action]) -> tuple[str, ...]:
    return tuple(action.target["flow"] for action in actions)


def counted(found: Difference) -> str:
    """Return a text such as `2 flows, 3 classes`."""
    classes = len(found.leave) + len(found.serve)
    return ", ".join(
        f"{count} {noun if count == 1 else plural}"
        for count, noun, plural in (
            (len(found.flows), "flow", "flows"),
            (classes, "class", "classes"),
        )
        if count
    )
