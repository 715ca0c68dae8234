"""Make a plan of a placement: each broker's part of the topic's bucket and its publishers, what
shrinks first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.selectors import in_force
from apps.placements.domain.sentences import list_effect, plan_effect, plan_reasons
from apps.placements.models import Placement
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
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.assign_publishers import MOST_PUBLISHERS
from weir.actions.set_bucket import COUNT, ENFORCE
from weir.actions.set_bucket import KIND as BUCKET
from weir.model.plan import Action, Promise, Source, Step, Value
from weir.model.plan import Plan as Document
from weir.placement.handover import HandoverStep, Names, Part, handover_steps, part_steps

KIND = "placement"
FLOW = "carry_flow"
TITLE_LENGTH = Plan._meta.get_field("title").max_length or 0


@transaction.atomic
def placement_plan(
    *,
    placement: Placement,
    actor: User | None,
    mode: str = ENFORCE,
    title: str = "",
    answerable: User | None = None,
) -> Plan:
    """Make a draft of the plan after which brokers enforce the placement's parts of the bucket and
    let in its publishers, or only count (`mode`) what the parts would hold.

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
    if not steps:
        raise Conflict(
            "nothing_to_change",
            f"What {placement} asks for is in force already; there is nothing to change.",
        )
    document = Document(
        kind=KIND,
        system=str(system.public_id),
        model_version=system.model_version,
        snapshot_hash=placement.run.snapshot.content_hash,
        source=Source(kind=KIND, id=str(placement.public_id), name=str(placement)),
        title=(title.strip() or _title(placement, mode))[:TITLE_LENGTH],
        why=plan_reasons(
            flow=flow,
            outcome=placement.outcome,
            moves=lists.moves if lists.after else _moves(placement),
            mode=mode,
            assigned=bool(lists.after),
            closes=bool(lists.after and not lists.before),
            opens=bool(lists.before and not lists.after),
            closing=[] if mode == COUNT else [broker for broker in enters if broker not in after],
            reliable=carried["delivery"] == "reliable",
        ),
        steps=tuple(Step(actions=tuple(_actions(flow, step))) for step in steps),
        promise=_promise(placement, mode),
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


def _title(placement: Placement, mode: str) -> str:
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
            name=f"99th percentile of {placement.topic_name}, wait and processing",
            unit="s",
            before=None if today is None else today["p99_s"],
            after=placement.p99_s,
        ),
    )
