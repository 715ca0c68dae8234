"""Create, change and delete schedules and triggers; each change has a version and an audit
entry."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.editing import check_name_free, lock_version
from apps.common.errors import ApplicationError
from apps.common.events import publish
from apps.policies.domain.windows import cron_error, timezone_error
from apps.recomputation.domain.timing import next_time
from apps.recomputation.models import Rule, Schedule, Then, Trigger
from apps.recomputation.services.beat import beat_forget, beat_sync
from apps.runs.selectors import computation_of
from apps.systems.models import System
from weir.errors import UnknownMethod

SHARED = ("name", "enabled", "subject", "method", "least_benefit", "time_limit_s", "then")
FIELDS: dict[type[Rule], tuple[str, ...]] = {
    Schedule: (*SHARED, "every_s", "cron", "timezone"),
    Trigger: (*SHARED, "kind", "threshold", "for_s", "cooldown_s"),
}


@transaction.atomic
def schedule_create(
    *, system: System, actor: User, values: Mapping[str, Any], reason: str = ""
) -> Schedule:
    """Add a schedule. Raises ApplicationError naming the field, Conflict for a name in use."""
    row = Schedule(system=system, **values)
    _rewind(row)
    _save(row, actor)
    beat_sync(row)
    _tell(row, "create", actor, after=_plain(row), reason=reason)
    return row


@transaction.atomic
def schedule_update(
    *,
    schedule: Schedule,
    actor: User,
    expected_version: int,
    values: Mapping[str, Any],
    take_over: bool = False,
    reason: str = "",
) -> Schedule:
    """Change the given members. A new time, or being enabled again, counts from now.

    `take_over`: the actor answers for its plans from then on.
    """
    row = lock_version(schedule, expected_version)
    before = _plain(row)
    answered = row.answerable
    _set(row, values)
    if {"every_s", "cron", "timezone", "enabled"} & {
        name for name in before if before[name] != getattr(row, name)
    }:
        _rewind(row)
    _save(row, actor, takes_over=take_over)
    beat_sync(row)
    _tell_change(row, actor, before, answered, reason)
    return row


@transaction.atomic
def trigger_create(
    *, system: System, actor: User, values: Mapping[str, Any], reason: str = ""
) -> Trigger:
    """Add a trigger. Raises ApplicationError naming the field, Conflict for a name in use."""
    row = Trigger(system=system, **values)
    _save(row, actor)
    _tell(row, "create", actor, after=_plain(row), reason=reason)
    return row


@transaction.atomic
def trigger_update(
    *,
    trigger: Trigger,
    actor: User,
    expected_version: int,
    values: Mapping[str, Any],
    take_over: bool = False,
    reason: str = "",
) -> Trigger:
    """Change the given members. What was seen so far no longer counts.

    `take_over`: the actor answers for its plans from then on.
    """
    row = lock_version(trigger, expected_version)
    before = _plain(row)
    answered = row.answerable
    _set(row, values)
    row.above_since, row.looked_at = None, None
    row.value, row.detail, row.basis = None, "", None
    _save(row, actor, takes_over=take_over)
    _tell_change(row, actor, before, answered, reason)
    return row


@transaction.atomic
def rule_delete(*, rule: Rule, actor: User, expected_version: int, reason: str = "") -> None:
    """Delete a schedule or trigger; the record of its firings stays."""
    row = lock_version(rule, expected_version)
    before = _plain(row)
    if isinstance(row, Schedule):
        beat_forget(row.public_id)
    _tell(row, "delete", actor, before=before, reason=reason)
    row.delete()


def _set(row: Rule, values: Mapping[str, Any]) -> None:
    row.version += 1
    for name, value in values.items():
        setattr(row, name, value)


def _rewind(row: Schedule) -> None:
    """Set the next time, counted from now."""
    _check_time(row)
    row.next_at = (
        next_time(every_s=row.every_s, cron=row.cron, timezone=row.timezone, after=timezone.now())
        if row.enabled
        else None
    )
    if row.enabled and row.next_at is None:
        raise ApplicationError.of_field("cron", "This expression never comes true.")


def _check_time(row: Schedule) -> None:
    if (row.every_s is None) == (not row.cron):
        raise ApplicationError.of_field("every_s", "Give either an interval or a cron expression.")
    if row.cron and (message := cron_error(row.cron)):
        raise ApplicationError.of_field("cron", message)
    if message := timezone_error(row.timezone):
        raise ApplicationError.of_field("timezone", message)


def _save(row: Rule, actor: User, *, takes_over: bool = False) -> None:
    """Save a rule. Everybody who changes it had a hand in its plans and may not approve them; the
    responsible person stays the same, unless the change takes that over."""
    computation = computation_of(row.subject)
    if row.least_benefit and not computation.weighs_benefit:
        message = (
            f"{computation.title} have no net benefit to weigh. Leave this at 0; the policy "
            "says which of their changes become a plan."
        )
        raise ApplicationError.of_field("least_benefit", message)
    if row.then != Then.NONE and not computation.plannable:
        message = f"No plan can be made of a {computation.noun}. Choose `none`: compute only."
        raise ApplicationError.of_field("then", message)
    try:
        if row.method and computation.find_method is not None:
            computation.find_method(row.method)
    except UnknownMethod as error:
        raise ApplicationError.of_field("method", str(error)) from error
    if row.pk is None or takes_over:
        row.answerable = actor
    row.shaped_by = sorted({*row.shaped_by, actor.pk})
    check_name_free(row, system=row.system)
    try:
        others = {field.name for field in row._meta.fields} - set(FIELDS[type(row)])
        row.clean_fields(exclude=others)
        row.validate_constraints(exclude={"system", "next_at"} & others)
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise ApplicationError.of_field("" if field == "__all__" else field, messages[0]) from error
    row.save()


def _plain(row: Rule) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FIELDS[type(row)]}


def _tell_change(
    row: Rule, actor: User, before: dict[str, Any], answered: User | None, reason: str
) -> None:
    after = {**_plain(row), "answerable": _name(row.answerable)}
    before = {**before, "answerable": _name(answered)}
    moved = [name for name in after if after[name] != before[name]]
    _tell(
        row,
        "update",
        actor,
        before={name: before[name] for name in moved},
        after={name: after[name] for name in moved},
        reason=reason,
    )


def _name(person: User | None) -> str | None:
    return person.display_name if person else None


def _tell(row: Rule, action: str, actor: User, **values: Any) -> None:
    record(
        actor=actor,
        action=action,
        object_kind=str(row._meta.verbose_name),
        object_id=row.public_id,
        object_name=row.name,
        system_id=row.system.public_id,
        **values,
    )
    publish("recomputation", system=row.system.public_id)
