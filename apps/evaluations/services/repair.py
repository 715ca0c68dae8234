"""Plan how to close the overlay around a broker that is gone for good."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.catalog.models import ConsumerClass, Topic
from apps.common.errors import Conflict
from apps.common.formatting import figure
from apps.evaluations.selectors.traffic import traffic_now
from apps.plans.models import Plan
from apps.plans.services import plan_create
from apps.policies.selectors import terms_for
from apps.systems.models import System
from apps.telemetry.selectors.silence import Silence, held_last, silences
from apps.topology.models import Broker
from apps.topology.services import Edges, edges_of, overlay_in_force
from weir import actions
from weir.coordination.removal import gone_role, links, neighbour_role
from weir.model.plan import Action, Promise, Source, Step
from weir.model.plan import Plan as Document
from weir.transformation.closing_links import carried, closing_links

KIND = "repair"


@transaction.atomic
def repair_plan(*, broker: Broker, actor: User | None, title: str = "") -> Plan:
    """Make a draft that removes the broker, with those linked to it that are gone as well.

    Raises Conflict: `broker_speaks` (it has not been silent for as long as the policy asks),
    `agents_silent` (a neighbour that has to take part), `nobody_left`, `not_in_overlay`,
    `no_overlay_in_force`.
    """
    system = System.objects.select_for_update().get(pk=broker.system_id)
    edges = edges_of(overlay_in_force(system))
    if not any(broker.name in pair for pair in edges):
        raise Conflict(
            "not_in_overlay", f"{broker.name} has no link in the overlay in force: nothing to mend."
        )
    now = timezone.now()
    least_s = terms_for(system).remove_after_s
    known = {row.broker: row for row in silences(system, now)}
    gone = _together(broker.name, edges, _silent(known, least_s))
    if broker.name not in gone:
        raise Conflict("broker_speaks", _speaks(broker.name, known.get(broker.name), least_s))
    around = sorted({b for pair in edges if gone.intersection(pair) for b in pair} - gone)
    late = [name for name in around if name not in known or known[name].seconds > 0]
    if late:
        raise Conflict(
            "agents_silent",
            f"{', '.join(late)} must take part and is silent, but not for {least_s} s yet. Wait "
            "until it speaks again, or until it counts as gone, too.",
        )
    if not around:
        raise Conflict("nobody_left", "No agent of this overlay speaks: nobody can take part.")
    action, between = _removal(system, edges, gone, around)
    actions.validate(action)
    rows = [Broker.objects.get(system=system, name=name) for name in sorted(gone)]
    document = Document(
        kind=KIND,
        system=str(system.public_id),
        model_version=system.model_version,
        snapshot_hash="",
        source=Source(kind="broker", id=str(broker.public_id), name=broker.name),
        title=title.strip() or actions.title(action)[: Plan._meta.get_field("title").max_length],
        why=_why(system, rows, known, action, between, now),
        steps=(Step(actions=(action,)),),
        promise=(
            Promise(
                name="parts of the overlay", unit="", before=float(max(1, len(around))), after=1.0
            ),
        ),
    )
    return plan_create(system=system, actor=actor, document=document)


def _silent(known: Mapping[str, Silence], least_s: float) -> frozenset[str]:
    return frozenset(row.broker for row in known.values() if row.seconds >= least_s)


def _together(start: str, edges: Edges, silent: Collection[str]) -> frozenset[str]:
    """Return the broker and all silent brokers that are linked with it."""
    if start not in silent:
        return frozenset()
    members, todo = {start}, [start]
    while todo:
        here = todo.pop()
        for pair in edges:
            for there in pair:
                if here in pair and there in silent and there not in members:
                    members.add(there)
                    todo.append(there)
    return frozenset(members)


def _speaks(name: str, silence: Silence | None, least_s: float) -> str:
    if silence is None:
        return (
            f"No agent of {name} has ever reported, so nobody knows what it holds; detach it in "
            "the model."
        )
    if silence.seconds <= 0:
        return f"The agent of {name} speaks: detach it by a plan that loses nothing."
    return (
        f"{name} has been silent for {silence.seconds:.0f} s; the policy lets a plan remove it "
        f"after {least_s} s."
    )


def _removal(
    system: System, edges: Edges, gone: frozenset[str], around: list[str]
) -> tuple[Action, dict[tuple[str, str], float]]:
    """Return the action with the cheapest links, and the traffic between the parts, in msg/s."""
    part_of = _parts(edges, gone, around)
    between: dict[tuple[str, str], float] = {}
    for (a, b), rate in traffic_now(system, without=gone).pairs().items():
        if a in part_of and b in part_of and part_of[a] != part_of[b]:
            key = (part_of[a], part_of[b])
            between[key] = between.get(key, 0.0) + rate
    closing = closing_links(around, between)
    order = [*(closing[0][1:] if closing else around), *(name for name, _ in closing)]
    number = {name: i for i, name in enumerate(order, 1)}
    target = {gone_role(i): name for i, name in enumerate(sorted(gone), 1)}
    if order:
        target[neighbour_role(1, None)] = order[0]
    for name, to in closing:
        target[neighbour_role(number[name], number[to])] = name
    effect = "What waits for it at its neighbours goes over the new links. What it held is lost."
    return Action(kind="remove_broker", target=target, effect=effect), between


def _parts(edges: Edges, gone: frozenset[str], around: Collection[str]) -> dict[str, str]:
    """Map each broker to the neighbour of the removed brokers that stands for its part."""
    rest = [pair for pair in edges if not gone.intersection(pair)]
    part_of = {name: name for name in around}
    todo = list(around)
    while todo:
        here = todo.pop()
        for pair in rest:
            for there in pair:
                if here in pair and there not in part_of:
                    part_of[there] = part_of[here]
                    todo.append(there)
    return part_of


def _why(
    system: System,
    gone: list[Broker],
    known: Mapping[str, Silence],
    action: Action,
    between: Mapping[tuple[str, str], float],
    now: datetime,
) -> tuple[str, ...]:
    """Return the reasons, what is lost, and who has to move elsewhere."""
    sentences = [
        f"{row.name} has been silent since {known[row.name].since:%Y-%m-%d %H:%M:%S} UTC, for "
        f"{figure(known[row.name].seconds)} s."
        for row in gone
    ]
    new = [(action.target[a], action.target[b]) for a, b in links(action.target)]
    if new:
        sentences.append(
            f"No other links between its neighbours carry less: {figure(carried(new, between))} "
            "msg/s in all of what is measured or modelled."
        )
    for row in gone:
        sentences += [f"Lost: {held_last(row).sentence}", *_elsewhere(system, row)]
        if known[row.name].seconds > system.retention_s:
            sentences.append(
                "Streams have forgotten by now what they had through it: messages that it was "
                "handing on when it fell silent may arrive twice."
            )
    sentences.append(
        "This cannot be rolled back. If the broker comes again, its agent is refused: enrol the "
        "agent again and append the broker."
    )
    return tuple(sentences)


def _elsewhere(system: System, broker: Broker) -> list[str]:
    sentences = []
    topics = Topic.objects.filter(system=system, source=broker).order_by("name")
    names = list(topics.values_list("name", flat=True))
    if names:
        sentences.append(
            f"Publishers of {', '.join(names)} came in at {broker.name}: move their source."
        )
    rows = ConsumerClass.objects.filter(system=system, broker=broker).order_by("name")
    classes = [f"{name} ({count:,})" for name, count in rows.values_list("name", "population_max")]
    if classes:
        sentences.append(
            f"Consumer classes at {broker.name} get nothing, with up to so many consumers: "
            f"{', '.join(classes)}. Move them to other brokers."
        )
    return sentences
