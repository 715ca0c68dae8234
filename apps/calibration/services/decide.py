"""Apply a fit to the model, undo that, or discard the fit.

Costs are written through the catalog's own service, so each topic and class gets a new version and
an entry in the audit, and the system one new model version. What somebody changed since is
never overwritten: the decision is refused and says what moved. Error corrections of the costs
begin anew.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.calibration.models import Coefficient, Fit
from apps.calibration.services.reset import corrections_reset
from apps.catalog.models import ConsumerClass, ConsumerClassCost, Topic, TopicNodeCost
from apps.common.errors import ApplicationError, Conflict, check_version
from apps.common.events import publish
from apps.systems.models import System
from apps.systems.services import entity_update, one_edit
from apps.topology.models import Broker
from weir.errors import IllegalTransition
from weir.lifecycle.fits import FITS, FitCommand, FitState


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Describe one coefficient: what must be in the model now, and its new value. None: no such
    cost."""

    coefficient: Coefficient
    expected: float | None
    wanted: float | None


@transaction.atomic
def fit_apply(
    *,
    fit: Fit,
    actor: User | None,
    expected_version: int,
    coefficients: Sequence[UUID],
    reason: str = "",
) -> Fit:
    """Write the chosen coefficients into the model. Raises Conflict where a cost was edited."""
    row = _locked(fit, expected_version, FitCommand.APPLY)
    chosen = {
        found.public_id: found
        for found in Coefficient.objects.filter(
            case__fit=row, public_id__in=coefficients
        ).select_related("case")
    }
    for index, key in enumerate(coefficients):
        if key not in chosen or chosen[key].kind == "idle":
            message = "No coefficient of this fit that the model could hold."
            raise ApplicationError.of_field(f"coefficients[{index}]", message)
    if not chosen:
        message = "Choose at least one coefficient."
        raise ApplicationError.of_field("coefficients", message, detail=message)
    rows = sorted(chosen.values(), key=lambda found: found.pk)
    _write(
        row,
        actor,
        [Writing(coefficient=c, expected=c.old, wanted=c.value) for c in rows],
        reason or f"fitted by {row}",
    )
    Coefficient.objects.filter(pk__in=[c.pk for c in rows]).update(applied=True)
    return _decide(row, FitCommand.APPLY, actor, reason, applied=len(rows))


@transaction.atomic
def fit_undo(*, fit: Fit, actor: User | None, expected_version: int, reason: str = "") -> Fit:
    """Put the costs back that applying replaced."""
    row = _locked(fit, expected_version, FitCommand.UNDO)
    rows = Coefficient.objects.filter(case__fit=row, applied=True).select_related("case")
    _write(
        row,
        actor,
        [Writing(coefficient=c, expected=c.value, wanted=c.old) for c in rows],
        reason or f"undo of {row}",
    )
    rows.update(applied=False)
    return _decide(row, FitCommand.UNDO, actor, reason)


@transaction.atomic
def fit_discard(*, fit: Fit, actor: User | None, expected_version: int, reason: str = "") -> Fit:
    """Say that the fit will not be used."""
    row = _locked(fit, expected_version, FitCommand.DISCARD)
    return _decide(row, FitCommand.DISCARD, actor, reason)


def _locked(fit: Fit, expected_version: int, command: FitCommand) -> Fit:
    """Return the row, locked, if the command may be given. Raises PreconditionFailed, Conflict."""
    # The system first, as every edit of the model does: two decisions cannot wait for each other.
    System.objects.select_for_update().get(pk=fit.system_id)
    row = Fit.objects.select_for_update(of=("self",)).select_related("system").get(pk=fit.pk)
    check_version(row, expected_version)
    try:
        FITS.advance(FitState(row.state), command)
    except IllegalTransition as error:
        raise Conflict("fit_state", f"{row}: {error}.") from error
    return row


def _decide(fit: Fit, command: FitCommand, actor: User | None, reason: str, **more: Any) -> Fit:
    before = fit.state
    fit.state = FITS.advance(FitState(before), command).value
    fit.decided_by, fit.decided_at = actor, timezone.now()
    fit.version += 1
    fit.save()
    system = System.objects.get(pk=fit.system_id)
    record(
        actor=actor,
        action=command.value,
        object_kind="fit",
        object_id=fit.public_id,
        object_name=str(fit),
        system_id=system.public_id,
        model_version=system.model_version,
        before={"state": before},
        after={"state": fit.state, **more},
        reason=reason,
    )
    publish("calibration", id=fit.public_id, system=system.public_id)
    return fit


def _write(fit: Fit, actor: User | None, writings: Sequence[Writing], reason: str) -> None:
    topics: dict[str, list[Writing]] = defaultdict(list)
    classes: dict[str, list[Writing]] = defaultdict(list)
    for writing in writings:
        found = writing.coefficient
        (topics if found.kind == "flow" else classes)[found.name].append(writing)
    brokers = {row.name: row for row in Broker.objects.filter(system=fit.system)}
    with one_edit():
        for name, rows in sorted(topics.items()):
            topic = Topic.objects.filter(system=fit.system, name=name).first()
            _write_topic(_still(topic, "topic", name), rows, brokers, actor, reason)
        for name, rows in sorted(classes.items()):
            found_class = ConsumerClass.objects.filter(system=fit.system, name=name).first()
            _write_class(_still(found_class, "consumer class", name), rows, actor, reason)
    cases = (writing.coefficient.case for writing in writings)
    corrections_reset(
        system=System.objects.get(pk=fit.system_id),
        places={(case.broker, case.resource) for case in cases},
        actor=actor,
        reason=reason,
    )


def _still(row: Any, kind: str, name: str) -> Any:
    if row is None:
        raise Conflict("changed_since", f"The {kind} {name} was deleted since the fit. Fit again.")
    return row


def _check(writing: Writing, now: float | None, where: str) -> None:
    if now != writing.expected:
        shown = "no cost" if now is None else f"{now:.6g}"
        then = "none" if writing.expected is None else f"{writing.expected:.6g}"
        raise Conflict(
            "changed_since",
            f"The cost of {where} is {shown}, but was {then} when this was computed. "
            "Somebody changed it since; fit again, or leave this coefficient out.",
        )


def _write_topic(
    topic: Topic,
    rows: list[Writing],
    brokers: dict[str, Broker],
    actor: User | None,
    reason: str,
) -> None:
    costs: dict[tuple[int, str], TopicNodeCost] = {
        (cost.broker_id, cost.resource): cost for cost in topic.node_costs.all()
    }
    values = {key: cost.cost for key, cost in costs.items()}
    by_id = {broker.pk: broker for broker in brokers.values()}
    for writing in rows:
        case = writing.coefficient.case
        broker = _still(brokers.get(case.broker), "broker", case.broker)
        key = (broker.pk, case.resource)
        _check(writing, values.get(key), f"{topic} at {broker}")
        if writing.wanted is None:
            values.pop(key, None)
        else:
            values[key] = writing.wanted
    entity_update(
        instance=topic,
        actor=actor,
        expected_version=topic.version,
        values={},
        children={
            "node_costs": [
                {"broker": by_id[broker], "resource": resource, "cost": cost}
                for (broker, resource), cost in values.items()
            ]
        },
        reason=reason,
    )


def _write_class(row: ConsumerClass, rows: list[Writing], actor: User | None, reason: str) -> None:
    values = dict(
        ConsumerClassCost.objects.filter(consumer_class=row).values_list("resource", "cost")
    )
    for writing in rows:
        resource = writing.coefficient.case.resource
        _check(writing, values.get(resource), f"{row}")
        if writing.wanted is None:
            values.pop(resource, None)
        else:
            values[resource] = writing.wanted
    entity_update(
        instance=row,
        actor=actor,
        expected_version=row.version,
        values={},
        children={"costs": [{"resource": name, "cost": cost} for name, cost in values.items()]},
        reason=reason,
    )
