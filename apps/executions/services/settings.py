"""Change settings: what agents are asked for, what is proved, what the controller adds."""

from collections.abc import Mapping, Set
from functools import reduce
from operator import or_
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.common.events import publish
from apps.executions.models import UNDER_WAY_NAMES, ExecutionAction, Setting
from apps.executions.services.adapted_parts import (
    part_ask,
    part_give_up,
    part_prove,
    part_shown,
    rows_locked,
    rows_settle,
)
from apps.executions.services.documents import revision_bump
from apps.systems.models import System
from weir.actions import SettingKey, setting_key
from weir.actions.adapt_parts import KIND as ORDER
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.carry_flow import NOWHERE
from weir.actions.set_bucket import KIND as BUCKET
from weir.coordination.wire import Observed, publishers_digest
from weir.model.plan import Action, Value

NOBODY: Value = {"publishers": []}


class Settings:
    """Hold the settings that a few actions are about, locked; `save` writes them together."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._rows: dict[SettingKey, Setting] = {}
        self._locked: set[str] = set()
        self._changed: dict[SettingKey, Setting] = {}
        self.lowered: set[SettingKey] = set()
        """Other settings that agents read another value of since an action asked for its own."""

    def _row(self, action: Action) -> Setting:
        kind, target_key = key = setting_key(action)
        if action.kind == BUCKET:
            self._parts(action.target["flow"])
        if key not in self._rows:
            row = Setting.objects.select_for_update().filter(
                system=self.system, kind=kind, target_key=target_key
            )
            self._rows[key] = row.first() or Setting(
                system=self.system, kind=kind, target=dict(action.target), target_key=target_key
            )
        self._changed[key] = self._rows[key]
        return self._rows[key]

    def _parts(self, flow: str) -> list[Setting]:
        """Return every part of the flow, locked: each counts for what the others may hold."""
        if flow not in self._locked:
            self._locked.add(flow)
            rows = rows_locked(self.system, flow)
            for row in rows:
                self._rows.setdefault((row.kind, row.target_key), row)
            for row in rows_settle(self.system, rows):
                self._changed[row.kind, row.target_key] = row
        return [
            row for row in self._rows.values() if row.kind == BUCKET and row.target["flow"] == flow
        ]

    def ask(self, action: Action) -> None:
        """Ask the agent for the new value: what rate control asked for ends, and parts of a bucket
        that have moved shrink first."""
        row = self._row(action)
        if action.kind == BUCKET:
            rows = self._parts(action.target["flow"])
            for other in part_ask(row, rows, _plain(action.after)):
                key = (other.kind, other.target_key)
                self._changed[key] = other
                self.lowered.add(key)
        else:
            row.desired, row.controlled = _plain(action.after), None

    def prove(self, action: Action) -> None:
        """Record that the value asked for is in force."""
        row = self._row(action)
        if row.in_force != row.desired:
            row.previous, row.changed_at = row.in_force, timezone.now()
        row.in_force = row.desired
        if action.kind == BUCKET:
            part_prove(row)

    def give_up(self, action: Action) -> None:
        """Ask for what was in force before."""
        row = self._row(action)
        if action.kind == BUCKET:
            part_give_up(row, self._parts(action.target["flow"]))
        else:
            row.desired = row.in_force

    def doubt(self, action: Action) -> None:
        """Count publishers that were asked for as let in, after what was asked for was given up and
        the agent did not confirm that: no other broker lets them in until it has released them."""
        row = self._row(action)
        if action.kind == PUBLISHERS and action.after is not None:
            names = {*action.after["publishers"], *(row.in_force or NOBODY)["publishers"]}
            row.in_force = {"publishers": sorted(names)}

    def save(self) -> None:
        """Write what changed in one statement."""
        if self._changed:
            Setting.objects.bulk_create(
                self._changed.values(),
                update_conflicts=True,
                unique_fields=["system", "kind", "target_key"],
                update_fields=[
                    *("in_force", "desired", "controlled", "may_hold"),
                    *("previous", "changed_at", "updated_at"),
                ],
            )
            self._changed = {}


def settings_asked(
    system: System, asked: Mapping[int, SettingKey], lowered: Set[SettingKey], number: int
) -> None:
    """Record that actions (by their keys) ask for another value from the documents of this number
    on, and that other settings were lowered: only an observation of one of these confirms it."""
    ExecutionAction.objects.filter(pk__in=asked).update(asked_number=number)
    keys = {*asked.values(), *lowered}
    which = [Q(kind=kind, target_key=target_key) for kind, target_key in sorted(keys)]
    if which:
        rows = Setting.objects.filter(system=system).filter(reduce(or_, which))
        rows.update(asked_number=number)


@transaction.atomic
def lists_settle(*, system: System, broker: str, seen: Observed) -> None:
    """End the doubt about lists that were given up while the broker's agent was silent: it shows
    now that it lets in whom it is asked to let in, so others may be let in elsewhere."""
    differs = ~Q(in_force=F("desired")) | Q(desired__isnull=True)
    rows = Setting.objects.select_for_update().filter(
        differs, system=system, kind=PUBLISHERS, in_force__isnull=False, target__broker=broker
    )
    settled = []
    for row in rows:
        under_way = ExecutionAction.objects.filter(
            step__execution__system=system,
            kind=PUBLISHERS,
            target=row.target,
            state__in=UNDER_WAY_NAMES,
        )
        # Without a list of its own the broker lets nobody in, as long as others have one.
        wanted = publishers_digest((row.desired or NOBODY)["publishers"])
        shows_it = seen.publishers.get(row.target["flow"]) == wanted
        if shows_it and seen.number >= row.asked_number and not under_way.exists():
            row.previous, row.in_force = row.in_force, row.desired
            row.changed_at = timezone.now()
            settled.append(row)
    if settled:
        columns = ["in_force", "previous", "changed_at", "updated_at"]
        Setting.objects.bulk_update(settled, columns)
        revision_bump(system)
        publish("document", system=system.public_id)


def settings_forget(system: System, broker: str) -> list[str]:
    """Remove what was in force at a broker that is gone; return it as text.

    A flow that entered there is still known, with its promise, and enters nowhere. An order to
    adapt parts goes on over the other brokers.
    """
    rows = Setting.objects.select_for_update().filter(system=system)
    there = rows.filter(target__broker=broker)
    forgotten = [str(row) for row in there if row.in_force is not None]
    there.delete()
    for row in rows.filter(kind="carry_flow"):
        entered = _enters(row.in_force, broker)
        if not entered and not _enters(row.desired, broker):
            continue
        if entered:
            forgotten.append(str(row))
            row.previous, row.changed_at = row.in_force, timezone.now()
            row.in_force = {**row.in_force, "broker": NOWHERE}
        if _enters(row.desired, broker):
            row.desired = {**row.desired, "broker": NOWHERE}
        row.save(update_fields=["in_force", "desired", "previous", "changed_at", "updated_at"])
    for row in rows.filter(kind=ORDER):
        row.in_force, row.desired = _without(row.in_force, broker), _without(row.desired, broker)
        row.save(update_fields=["in_force", "desired", "updated_at"])
    return forgotten


def _without(order: dict[str, Any] | None, broker: str) -> dict[str, Any] | None:
    """Return the order over the other brokers; None where there are none."""
    brokers = [] if order is None else [name for name in order["brokers"] if name != broker]
    return {**order, "brokers": brokers} if order and brokers else None


def _enters(value: dict[str, Any] | None, broker: str) -> bool:
    return value is not None and value["broker"] == broker


def _plain(value: Value | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


def shows(observed: Observed, action: Action, value: Value | None, broker: str) -> bool:
    """Return whether the broker's agent sees exactly this value of the action's setting in
    force."""
    target = action.target
    match action.kind:
        case "set_flow_rate":
            if target["flow"] in observed.buckets:
                # A part of the flow's bucket stands in its place; it holds once that has gone.
                return True
            gate = observed.gates.get(target["flow"])
            if value is None or gate is None:
                return value is None and gate is None
            return bool(gate.rate_per_s == value["rate_per_s"] and gate.burst == value["burst"])
        case "carry_flow":
            if observed.ingress is None:
                return False
            part = observed.buckets.get(target["flow"])
            named = value is not None and value["broker"] == broker
            enters = named if part is None else part.rate_per_s > 0
            wanted = value["delivery"] if value is not None and enters else None
            return observed.ingress.get(target["flow"]) == wanted
        case "set_bucket":
            return part_shown(observed, target["flow"], value)
        case "assign_publishers":
            digest = observed.publishers.get(target["flow"])
            if broker != target["broker"]:
                # It waits for a new place of its publishers: all that those it has released had
                # sent has passed there, too.
                return digest is not None
            if value is None:
                return digest in (None, publishers_digest(()))
            return digest == publishers_digest(value["publishers"])
        case "serve_class":
            if observed.served is None:
                return False
            flow = None if value is None else value["flow"]
            # Consumers that are let in receive nothing while the flow is not delivered there.
            delivered = flow not in observed.flow_failures
            return delivered and observed.served.get(target["class"]) == flow
        case "set_population":
            served = observed.served
            if served is not None and served.get(target["class"]) != target["flow"]:
                # Nobody is let in, so no limit is passed; it holds from the first consumer on.
                return True
            limit = None if value is None else value["limit"]
            # The first consumer that is let in is what makes a broker deliver the flow.
            starts = action.before == {"limit": 0} and limit != 0
            delivered = not starts or target["flow"] not in observed.flow_failures
            return delivered and observed.limits.get(target["class"]) == limit
        case "adapt_parts":
            # Agents have nothing to do for it. That one has obeyed a document of since then shows
            # that it can be asked for other parts.
            return True
        case kind:
            raise NotImplementedError(f"nobody knows how an agent shows {kind}")


def failure(observed: Observed, action: Action) -> str:
    """Return why the broker's agent cannot put the action's setting into force, as it says itself;
    empty where it says nothing of it."""
    flow, consumer_class = action.target.get("flow", ""), action.target.get("class", "")
    if action.kind == "serve_class" and action.after is not None:
        flow = action.after["flow"]
    reasons = [observed.flow_failures.get(flow), observed.class_failures.get(consumer_class)]
    if action.kind == PUBLISHERS:
        # The agent knows for whom a release waits.
        reasons += [text for text in observed.problems if text.startswith(f"publishers of {flow} ")]
    return "; ".join(filter(None, reasons))


def asks_of(action: Action, value: Value | None, broker: str) -> bool:
    """Return whether this value of the action's setting asks anything of the broker."""
    if value is None:
        return False
    if action.kind == ORDER:
        return broker in value["brokers"]
    return action.kind != "carry_flow" or bool(value["broker"] == broker)


@transaction.atomic
def settings_control(
    *,
    system: System,
    values: Mapping[SettingKey, Value | None],
    approved: Mapping[SettingKey, Value],
) -> int:
    """Ask agents for other values than those of the last plan; None ends that.

    For the rate controller. `approved` is what was in force when the values were computed: where
    a plan has changed it since, they are nobody's. A setting that is not in force, or that an
    execution is changing right now, is left alone, too. Returns how many values changed.
    """
    rows = Setting.objects.select_for_update().filter(system=system, in_force__isnull=False)
    changed = []
    for row in rows:
        key = (row.kind, row.target_key)
        if key not in values or row.desired != row.in_force:
            continue
        value = _plain(values[key])
        if value is not None and approved.get(key) != row.in_force:
            continue
        if value != row.controlled:
            row.controlled = value
            changed.append(row)
    if changed:
        Setting.objects.bulk_update(changed, ["controlled", "updated_at"])
        revision_bump(system)
        publish("document", system=system.public_id)
    return len(changed)
