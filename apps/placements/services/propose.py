"""Make a plan of a placement: each broker's part of the topic's bucket and its publishers, what
shrinks first, and whether parts follow the traffic from then on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from django.db import transaction

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.selectors import in_force
from apps.placements.domain.sentences import (
    list_effect,
    order_effect,
    order_reasons,
    plan_effect,
    plan_reasons,
)
from apps.placements.models import Placement
from apps.placements.selectors.adaptation import stopped_by
from apps.placements.selectors.lists import (
    lists_in_force,
    lists_of_catalogue,
    lists_of_placement,
)
from apps.placements.selectors.parts import parts_in_force, parts_of
from apps.plans.models import Plan
from apps.plans.services import plan_create
from apps.systems.models import System
from weir.actions import SettingKey, target_key
from weir.actions.adapt_parts import KIND as ORDER
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.assign_publishers import MOST_PUBLISHERS
from weir.actions.set_bucket import COUNT, ENFORCE
from weir.actions.set_bucket import KIND as BUCKET
from weir.model.plan import TAIL_DELAY, Action, Promise, Source, Step, Value
from weir.model.plan import Plan as Document
from weir.placement.handover import HandoverStep, Names, Part, handover_steps, part_steps

KIND = "placement"
FLOW = "carry_flow"
GOES_ON: Final = "goes_on"
"""An order in force to adapt parts stays as it is, over the placement's brokers."""
Adaptation = Mapping[str, float] | Literal["goes_on"] | None

TITLE_LENGTH = Plan._meta.get_field("title").max_length or 0


@transaction.atomic
def placement_plan(
    *,
    placement: Placement,
    actor: User | None,
    mode: str = ENFORCE,
    adaptation: Adaptation = GOES_ON,
    title: str = "",
    answerable: User | None = None,
) -> Plan:
    """Make a draft of the plan after which brokers enforce the placement's parts of the bucket and
    let in its publishers, or only count (`mode`) what the parts would hold.

    `adaptation`: window, period and least share by which the parts follow the traffic from then
    on; None: they stay as the plan has them.

    Raises Conflict: `plan_is_stale` (the model moved), `not_carried` (agents do not know the
    topic), `enforced_already` (counting would lift parts in force), `nothing_to_change`, and what
    `plan_create` refuses.
    """
    system = System.objects.select_for_update().get(pk=placement.system_id)
    made_for = placement.run.snapshot.model_version
    if made_for != system.model_version:
        raise Conflict(
            "plan_is_stale",
            f"{placement} was computed on version {made_for} of the model, which is at version "
            f"{system.model_version} now. Place the topic again and plan the new placement.",
        )
    flow, settings = placement.topic_name, in_force(system).settings
    carried = settings.get((FLOW, target_key({"flow": flow})))
    if carried is None:
        raise Conflict(
            "not_carried",
            f"Agents do not carry {flow} yet. Bring the model into force first, on the system's "
            "page.",
        )
    before = parts_in_force(flow, settings)
    if mode == COUNT and any(not part.count_only for part in before.values()):
        raise Conflict(
            "enforced_already",
            f"Parts of the bucket of {flow} are enforced: to count instead would lift them. Plan "
            "the placement's parts as they are to be enforced.",
        )
    after = parts_of(placement.outcome["shares"], count_only=mode == COUNT)
    enters = _open(before, carried)
    lists = _lists(placement, settings, enters) if mode == ENFORCE else Assigned()
    if mode == ENFORCE:
        steps = handover_steps(
            (before, after),
            (lists.before, lists.after),
            staying=lists.present,
            source=carried["broker"],
        )
    else:
        steps = [
            HandoverStep(parts=changes)
            for changes in part_steps(before, after, source=carried["broker"])
        ]
    ordered = _ordered(flow, settings, adaptation if mode == ENFORCE else None, after)
    if not steps and not ordered.changes:
        raise Conflict(
            "nothing_to_change",
            f"What {placement} asks for is in force already; there is nothing to change.",
        )
    about_parts = (
        ()
        if not steps
        else plan_reasons(
            flow=flow,
            outcome=placement.outcome,
            moves=lists.moves if lists.after else _moves(placement),
            mode=mode,
            assigned=bool(lists.after),
            closes=bool(lists.after and not lists.before),
            opens=bool(lists.before and not lists.after),
            closing=[] if mode == COUNT else [broker for broker in enters if broker not in after],
            reliable=carried["delivery"] == "reliable",
        )
    )
    about_order = order_reasons(
        flow,
        ordered.before,
        ordered.after,
        alone=not steps,
        ends_first=ordered.ends_before(steps),
        stopped_by=stopped_by(system, flow),
    )
    document = Document(
        kind=KIND,
        system=str(system.public_id),
        model_version=system.model_version,
        snapshot_hash=placement.run.snapshot.content_hash,
        source=Source(kind=KIND, id=str(placement.public_id), name=str(placement)),
        title=(title.strip() or _title(placement, mode, None if steps else ordered))[:TITLE_LENGTH],
        why=(*about_parts, *about_order),
        steps=_steps(flow, steps, ordered),
        promise=_promise(placement, mode) if steps else (),
    )
    return plan_create(
        system=system, actor=actor, document=document, run=placement.run, answerable=answerable
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """Publishers by the broker that lets them in; without lists after, a plan sets parts alone."""

    before: Mapping[str, Names] = field(default_factory=dict)
    after: Mapping[str, Names] = field(default_factory=dict)
    present: Mapping[str, Names] = field(default_factory=dict)
    """Who publishes where today, by lists or else by the catalogue."""

    @property
    def moves(self) -> dict[str, int]:
        """Return how many publishers each broker lets in that are not there today."""
        here: Names = frozenset()
        counts = {b: len(names - self.present.get(b, here)) for b, names in self.after.items()}
        return {broker: count for broker, count in sorted(counts.items()) if count}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Hold the order to adapt the parts of a flow before and after a plan; None: there is none."""

    before: Value | None
    after: Value | None

    @property
    def changes(self) -> bool:
        """Return whether the order changes."""
        return self.before != self.after

    def ends_before(self, steps: Sequence[HandoverStep]) -> bool:
        """Return whether an order in force ends before these steps: while parts change nobody else
        moves them."""
        if self.before is None or not steps:
            return False
        moved = self.after is None or self.before["brokers"] != self.after["brokers"]
        return moved or any(step.parts for step in steps)


def _ordered(
    flow: str,
    settings: Mapping[SettingKey, Value],
    adaptation: Adaptation,
    parts: Mapping[str, Part],
) -> Ordered:
    before = settings.get((ORDER, target_key({"flow": flow})))
    wanted = before if adaptation == GOES_ON else adaptation
    after = None if wanted is None else {**wanted, "brokers": sorted(parts)}
    return Ordered(before=before, after=after)


def _steps(flow: str, steps: Sequence[HandoverStep], ordered: Ordered) -> tuple[Step, ...]:
    """Return the steps with the order: it ends in a first one of its own, where it must not move
    parts meanwhile, and begins in a last one."""
    first: tuple[Step, ...] = ()
    before, after = ordered.before, ordered.after
    if ordered.ends_before(steps):
        first, before = (_order_step(flow, before, None),), None
    last = (_order_step(flow, before, after),) if before != after else ()
    return (*first, *(Step(actions=tuple(_actions(flow, step))) for step in steps), *last)


def _order_step(flow: str, before: Value | None, after: Value | None) -> Step:
    action = Action(
        kind=ORDER,
        target={"flow": flow},
        before=before,
        after=after,
        effect=order_effect(flow, before, after),
    )
    return Step(actions=(action,))


def _lists(
    placement: Placement, settings: Mapping[SettingKey, Value], enters: list[str]
) -> Assigned:
    before = lists_in_force(placement.topic_name, settings)
    catalogue = lists_of_catalogue(placement)
    after = lists_of_placement(placement, before or catalogue)
    if before:
        present = before
    elif len(enters) == 1:
        # Whatever the catalogue says, there is no other place where anybody could publish.
        present = {enters[0]: frozenset[str]().union(*after.values())}
    else:
        present = {broker: catalogue[broker] for broker in enters if broker in catalogue}
    if any(len(names) > MOST_PUBLISHERS for names in after.values()):
        after = {}
    return Assigned(before=before, after=after, present=present)


def _actions(flow: str, step: HandoverStep) -> list[Action]:
    return [
        *(
            Action(
                kind=PUBLISHERS,
                target={"flow": flow, "broker": broker},
                before=_names(now),
                after=_names(then),
                effect=list_effect(flow, broker, now, then),
            )
            for broker, (now, then) in step.lists.items()
        ),
        *(
            Action(
                kind=BUCKET,
                target={"flow": flow, "broker": broker},
                before=_value(before),
                after=_value(after),
                effect=plan_effect(flow, broker, before, after),
            )
            for broker, (before, after) in step.parts.items()
        ),
    ]


def _names(publishers: Names | None) -> dict[str, Any] | None:
    return None if publishers is None else {"publishers": sorted(publishers)}


def _open(before: dict[str, Part], carried: Value) -> list[str]:
    """Return the brokers at which the flow enters now."""
    brokers = {broker for broker, part in before.items() if part.rate_per_s > 0}
    split = any(not part.count_only for part in before.values())
    if carried["broker"] and not split:
        brokers.add(carried["broker"])
    return sorted(brokers)


def _value(part: Part | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {
        "rate_per_s": part.rate_per_s,
        "size": part.size,
        "mode": COUNT if part.count_only else ENFORCE,
    }


def _title(placement: Placement, mode: str, alone: Ordered | None) -> str:
    if alone is not None:
        verb = "End" if alone.after is None else "Change" if alone.before else "Begin"
        return f"{verb} the adaptation of the parts of {placement.topic_name}"
    if mode == COUNT:
        return f"Count what the parts of {placement} would hold of {placement.topic_name}"
    return f"Split the bucket of {placement.topic_name} over its brokers as {placement} has it"


def _moves(placement: Placement) -> dict[str, int]:
    """Return how many publishers have to connect to each broker anew."""
    counts: dict[str, int] = {}
    for broker in placement.moves.values_list("to_broker", flat=True).iterator():
        counts[broker] = counts.get(broker, 0) + 1
    return dict(sorted(counts.items()))


def _promise(placement: Placement, mode: str) -> tuple[Promise, ...]:
    if mode == COUNT:
        return ()
    today = placement.outcome["today"]
    return (
        Promise(
            name=TAIL_DELAY.format(topic=placement.topic_name),
            unit="s",
            before=None if today is None else today["p99_s"],
            after=placement.p99_s,
        ),
    )
