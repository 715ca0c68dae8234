"""Make a plan that brings the present model into force: its flows and its classes.

Rates and limits in force stay with what they limit. A flow whose ingress moves is limited at the
new one as at the old one, a class that moves keeps its limit, and what limits nothing any more is
lifted. Parts of a token bucket and lists of publishers end with the topic, or when it has no token
bucket any more; an order to adapt these parts ends before anything else. New values are proposed by
allocations and placements.
"""

from collections.abc import Collection, Mapping

from django.db import transaction

from apps.accounts.models import User
from apps.catalog.models import Topic
from apps.common.errors import Conflict
from apps.executions.selectors import in_force
from apps.executions.selectors.modelled import CLASS, FLOW, Asked, asked_by_model
from apps.plans.domain.naming import listed
from apps.plans.domain.structure import Difference, arranged, counted, difference, reasons
from apps.plans.models import Plan
from apps.plans.services.create import LENGTHS, plan_create
from apps.systems.models import System
from weir.actions import SettingKey, target_key, target_of
from weir.actions.adapt_parts import KIND as ORDER
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.set_bucket import ENFORCE
from weir.actions.set_bucket import KIND as BUCKET
from weir.model.plan import Action, Source, Step, Value
from weir.model.plan import Plan as Document

KIND = "model"
RATE, LIMIT = "set_flow_rate", "set_population"
NOBODY: Value = {"publishers": []}


@transaction.atomic
def plan_of_model(
    *, system: System, actor: User | None, title: str = "", change_ticket: str = ""
) -> Plan:
    """Make a draft of what agents have to do differently for the model to be in force.

    Raises Conflict `nothing_to_change` where they do it already.
    """
    locked = System.objects.select_for_update().get(pk=system.pk)
    asked, settings = asked_by_model(locked), in_force(locked).settings
    found = difference(asked, settings)
    split = set(
        Topic.objects.filter(system=locked, token_rate_per_s__isnull=False).values_list(
            "name", flat=True
        )
    )
    released, lifted = ended_lists(asked, settings, split)
    ended = [*ended_parts(settings, split), *lifted]
    orders = ended_orders(settings, split)
    if not found and not ended and not orders:
        raise Conflict(
            "nothing_to_change",
            f"Agents of {locked} carry and serve what the model asks for already. Rates and "
            "limits change with the plan of an allocation.",
        )
    moved = [*kept_values(asked, settings), *ended]
    document = Document(
        kind=KIND,
        system=str(locked.public_id),
        model_version=locked.model_version,
        snapshot_hash="",
        source=Source(kind=KIND, id=str(locked.public_id), name=f"version {locked.model_version}"),
        title=(title.strip() or _title(found, [*orders, *ended]))[: LENGTHS["title"]],
        why=(
            *reasons(found),
            *_about_parts(found, ended, settings),
            *_unlimited(asked, settings, moved),
        ),
        steps=(
            *(Step(actions=tuple(first)) for first in (orders, released) if first),
            *arranged(found, moved),
        ),
    )
    return plan_create(system=locked, actor=actor, document=document, change_ticket=change_ticket)


def _title(found: Difference, ended: list[Action]) -> str:
    parts = len({action.target["flow"] for action in ended})
    texts = [
        counted(found) if found else "",
        f"the split of {parts} {'bucket' if parts == 1 else 'buckets'} ends" if parts else "",
    ]
    return f"Bring the model into force: {', '.join(filter(None, texts))}"


def ended_parts(settings: Mapping[SettingKey, Value], split: Collection[str]) -> list[Action]:
    """Return what ends the parts of buckets of topics that are not in `split`, those to which the
    model gives a token bucket."""
    return [
        Action(
            kind=BUCKET,
            target=target,
            before=settings[key],
            after=None,
            effect=f"The model has no token bucket for {target['flow']} any more.",
        )
        for key, target in _targets(BUCKET, settings)
        if target["flow"] not in split
    ]


def ended_orders(settings: Mapping[SettingKey, Value], split: Collection[str]) -> list[Action]:
    """Return what ends the orders to adapt the parts of topics that are not in `split`."""
    return [
        Action(
            kind=ORDER,
            target=target,
            before=settings[key],
            after=None,
            effect=f"The parts of {target['flow']} are moved back before they end.",
        )
        for key, target in _targets(ORDER, settings)
        if target["flow"] not in split
    ]


def ended_lists(
    asked: Mapping[SettingKey, Asked],
    settings: Mapping[SettingKey, Value],
    split: Collection[str],
) -> tuple[list[Action], list[Action]]:
    """Return what ends the lists of publishers of topics that are not in `split`: whom brokers
    release first, and the lists that end last.

    Before a topic enters at its source alone, those that publish elsewhere are released: what they
    had sent passes the source, then parts end, then all are let in there. Of a topic that is gone
    nothing is delivered, so its lists only end.
    """
    lists: dict[str, dict[str, Value]] = {}
    for key, target in _targets(PUBLISHERS, settings):
        if target["flow"] not in split:
            lists.setdefault(target["flow"], {})[target["broker"]] = settings[key]
    released, lifted = [], []
    for flow, present in lists.items():
        row = asked.get((FLOW, target_key({"flow": flow})))
        now: dict[str, Value] = dict(present)
        if row is not None:
            source = row.value["broker"]
            leaving = [b for b, value in present.items() if b != source and value["publishers"]]
            # The source has to have a list to be one of those that a release waits for.
            opened = [source] if leaving and source and source not in present else []
            for broker in sorted({*leaving, *opened}):
                now[broker] = NOBODY
                effect = (
                    f"Publishers of {flow} leave {broker}, and wait until all that they had sent "
                    "has passed and the topic enters at its source."
                    if broker in present
                    else f"Publishers of {flow} wait until they are let in at {broker}."
                )
                released.append(_listing(flow, broker, present.get(broker), NOBODY, effect))
        lifted += [
            _listing(
                flow,
                broker,
                value,
                None,
                f"Every publisher of {flow} may send to its source."
                if row is not None
                else f"{flow} is gone.",
            )
            for broker, value in sorted(now.items())
        ]
    return released, lifted


def _listing(
    flow: str, broker: str, before: Value | None, after: Value | None, effect: str
) -> Action:
    target = {"flow": flow, "broker": broker}
    return Action(kind=PUBLISHERS, target=target, before=before, after=after, effect=effect)


def _targets(
    kind: str, settings: Mapping[SettingKey, Value]
) -> list[tuple[SettingKey, dict[str, str]]]:
    return [(key, target_of(key)) for key in sorted(settings) if key[0] == kind]


def _about_parts(
    found: Difference, ended: list[Action], settings: Mapping[SettingKey, Value]
) -> list[str]:
    """Say of which flows the parts end, and which enter by their parts whatever their source."""
    ending = {action.target["flow"] for action in ended if action.kind == BUCKET}
    enforced = {
        target_of(key)["flow"]
        for key, value in settings.items()
        if key[0] == BUCKET and value["mode"] == ENFORCE
    }
    sentences = []
    if ending:
        sentences.append(
            f"The bucket of {listed(tuple(sorted(ending)))} is split no longer: it enters at its "
            "source alone, and publishers elsewhere are refused."
        )
    if opening := {a.target["flow"] for a in ended if a.kind == PUBLISHERS}:
        sentences.append(
            f"Publishers of {listed(tuple(sorted(opening)))} are assigned to brokers no longer: "
            "those elsewhere are released before its parts end, and every publisher is let in "
            "where it enters."
        )
    moving = {action.target["flow"] for action in found.flows if action.after is not None}
    if staying := sorted((moving & enforced) - ending):
        sentences.append(
            f"{listed(tuple(staying))} goes on entering where it has a part of its bucket, "
            "whatever its source. Place it again to let its publishers send to the new one."
        )
    return sentences


def kept_values(
    asked: Mapping[SettingKey, Asked], settings: Mapping[SettingKey, Value]
) -> list[Action]:
    """Return the changes after which what is limited now is limited the same at its new place."""
    wanted = _rates(asked, settings) | _limits(asked, settings)
    present = {key: value for key, value in settings.items() if key[0] in (RATE, LIMIT)}
    return [
        Action(
            kind=key[0],
            target=target_of(key),
            before=present.get(key),
            after=wanted.get(key),
            effect=_effect(key, wanted.get(key)),
        )
        for key in sorted({*wanted, *present})
        if present.get(key) != wanted.get(key)
    ]


def _rates(
    asked: Mapping[SettingKey, Asked], settings: Mapping[SettingKey, Value]
) -> dict[SettingKey, Value]:
    wanted: dict[SettingKey, Value] = {}
    for key, row in asked.items():
        if key[0] != FLOW or not row.value["broker"]:
            continue
        flow, before = row.target["flow"], settings.get(key)
        places = [row.value["broker"], *([before["broker"]] if before else [])]
        for broker in places:
            value = settings.get((RATE, target_key({"flow": flow, "broker": broker})))
            if value is not None:
                wanted[RATE, target_key({"flow": flow, "broker": places[0]})] = value
                break
    return wanted


def _limits(
    asked: Mapping[SettingKey, Asked], settings: Mapping[SettingKey, Value]
) -> dict[SettingKey, Value]:
    limits = {
        (target["class"], target["broker"], target["flow"]): value
        for key, value in settings.items()
        if key[0] == LIMIT
        for target in [target_of(key)]
    }
    wanted: dict[SettingKey, Value] = {}
    for key, row in asked.items():
        if key[0] != CLASS:
            continue
        here = (row.target["class"], row.target["broker"], row.value["flow"])
        # Of several places of the same class the strictest limit goes on.
        others = [value for place, value in limits.items() if place[0] == here[0]]
        value = limits.get(here) or min(others, key=lambda v: int(v["limit"]), default=None)
        if value is not None:
            target = dict(zip(("class", "broker", "flow"), here, strict=True))
            wanted[LIMIT, target_key(target)] = value
    return wanted


def _effect(key: SettingKey, after: Value | None) -> str:
    target = target_of(key)
    name = target.get("class") or target["flow"]
    if after is None:
        return f"It limits nothing any more: the model has {name} elsewhere or not at all."
    return f"{name} is limited at {target['broker']} as it was at its former place."


def _unlimited(
    asked: Mapping[SettingKey, Asked],
    settings: Mapping[SettingKey, Value],
    moved: list[Action],
) -> list[str]:
    """Say which new flows and classes nothing limits."""
    limited = {
        (key[0], target_of(key).get("class") or target_of(key)["flow"])
        for key in [*settings, *((a.kind, target_key(a.target)) for a in moved if a.after)]
        if key[0] in (RATE, LIMIT)
    }
    new = [row for key, row in asked.items() if key not in settings]
    flows = tuple(
        row.target["flow"]
        for row in new
        if row.kind == FLOW and (RATE, row.target["flow"]) not in limited
    )
    classes = tuple(
        row.target["class"]
        for row in new
        if row.kind == CLASS and (LIMIT, row.target["class"]) not in limited
    )
    sentences = []
    if flows:
        sentences.append(f"Nothing limits the rate of {listed(flows)} until an allocation does.")
    if classes:
        sentences.append(
            f"Everybody who asks is let in to {listed(classes)} until an allocation limits it."
        )
    return sentences
