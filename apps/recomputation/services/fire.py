"""Turn schedules that came due into firings; a firing that finds another one waiting joins it."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import automatic_account
from apps.audit.services import record
from apps.common.events import publish
from apps.policies.selectors import stop_now
from apps.recomputation.domain.timing import in_words, next_time
from apps.recomputation.models import Firing, Rule, Schedule, Then, Trigger
from apps.recomputation.services.beat import beat_forget, beat_sync
from apps.systems.models import System
from weir.lifecycle.firings import FIRINGS, FiringCommand, FiringState

logger = logging.getLogger(__name__)
SCHEDULE, TRIGGER = "schedule", "trigger"
PATIENCE = timedelta(seconds=10)
"""How late beat's call may be before the coordinator fires in its place."""

SKEW = timedelta(seconds=1)
"""A call that is early by this much is on time: two machines' clocks differ."""

DRIFT = timedelta(seconds=2)
"""A call later than this makes beat's entry be corrected."""

STRENGTH = {Then.NONE: 0, Then.DRAFT: 1, Then.SUBMIT: 2, Then.EXECUTE: 3}


def lock_system(pk: int) -> System:
    """Lock the system's row first, everywhere in the same order, so that there is no deadlock."""
    return System.objects.select_for_update().get(pk=pk)


def move(firing: Firing, command: FiringCommand, **columns: Any) -> None:
    """Make one transition of a firing whose system is locked, and publish it."""
    firing.state = FIRINGS.advance(FiringState(firing.state), command).value
    if FiringState(firing.state) in FIRINGS.ended:
        columns["ended_at"] = timezone.now()
    for name, value in columns.items():
        setattr(firing, name, value)
    firing.save()
    publish("recomputation", system=firing.system.public_id)


def fire(
    *,
    rule: Rule,
    system: System,
    why: str,
    person: User | None = None,
    value: float | None = None,
    threshold: float | None = None,
) -> Firing:
    """Record a firing of a locked system. `person` is who asked, instead of time or a value.

    Where one of the same subject waits already the two become one: the one that does more with
    what comes out stays.
    """
    firing = Firing(
        system=system,
        schedule=rule if isinstance(rule, Schedule) else None,
        trigger=rule if isinstance(rule, Trigger) else None,
        cause=rule.name,
        subject=rule.subject,
        least_benefit=rule.least_benefit,
        why=why,
        value=value,
        threshold=threshold,
        method=rule.method,
        time_limit_s=rule.time_limit_s,
        then=rule.then,
        account=SCHEDULE if isinstance(rule, Schedule) else TRIGGER,
        answerable=person or rule.answerable,
        shaped_by=_people(rule.shaped_by, rule.answerable, person),
    )
    waiting = Firing.objects.filter(
        system=system, subject=rule.subject, state=FiringState.WAITING
    ).first()
    if waiting is None:
        firing.save()
    elif STRENGTH[Then(firing.then)] > STRENGTH[Then(waiting.then)]:
        firing.shaped_by = _people([*firing.shaped_by, *waiting.shaped_by], waiting.answerable)
        # The waiting row is unique: the old one ends before the new one is added.
        move(waiting, FiringCommand.MERGE, detail="Joined a later firing that also waits.")
        firing.save()
        Firing.objects.filter(pk=waiting.pk).update(merged_into=firing)
    else:
        firing.state = FIRINGS.advance(FiringState.WAITING, FiringCommand.MERGE).value
        firing.ended_at, firing.merged_into = timezone.now(), waiting
        firing.detail = f"Joined {waiting}, which waits already."
        firing.save()
        waiting.shaped_by = _people([*firing.shaped_by, *waiting.shaped_by])
        waiting.save(update_fields=["shaped_by", "updated_at"])
    record(
        actor=person or automatic_account(firing.account),
        action="fire",
        object_kind=firing.account,
        object_id=rule.public_id,
        object_name=rule.name,
        system_id=system.public_id,
        reason=why[:500],
    )
    publish("recomputation", system=system.public_id)
    return firing


def schedule_due(*, public_id: UUID) -> bool:
    """Handle beat's call that a schedule is due: it fires, unless its row says otherwise.

    Such a call may come twice, late, or for a schedule that was paused or deleted meanwhile.
    """
    keys = Schedule.objects.filter(public_id=public_id).values_list("pk", "system_id").first()
    if keys is None:
        beat_forget(public_id)
        return False
    return _fire_if_due(*keys, late=-SKEW)


def schedules_catch_up() -> int:
    """Fire once every schedule that came due without a call of beat."""
    due = list(
        Schedule.objects.filter(enabled=True, next_at__lte=timezone.now() - PATIENCE).values_list(
            "pk", "system_id"
        )
    )
    fired = 0
    for pk, system in due:
        try:
            fired += _fire_if_due(pk, system, late=PATIENCE)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # An error of one schedule must not stop the others.
            logger.exception("schedule %s cannot fire", pk)
    return fired


@transaction.atomic
def _fire_if_due(pk: int, system_pk: int, *, late: timedelta) -> bool:
    """Fire a schedule that has been due for this long; one firing makes up for all missed times."""
    system = lock_system(system_pk)
    row = Schedule.objects.select_for_update(of=("self",)).filter(pk=pk).first()
    now = timezone.now()
    if row is None or stop_now() is not None:
        # What is due while everything is stopped is caught up with once afterwards.
        return False
    if not row.enabled:
        beat_sync(row)
        return False
    due = row.next_at
    if due is None or due > now - late:
        return False
    fire(rule=row, system=system, why=_why(row, due, now))
    row.next_at = next_time(
        every_s=row.every_s,
        cron=row.cron,
        timezone=row.timezone,
        after=max(now, due),
        anchor=due,
    )
    row.save(update_fields=["next_at", "updated_at"])
    if now - due > DRIFT:
        # Beat counts an interval from its last call, so every late one delays all that follow.
        beat_sync(row)
    return True


def _why(row: Schedule, due: datetime, now: datetime) -> str:
    words = in_words(every_s=row.every_s, cron=row.cron, timezone=row.timezone)
    text = f"Due at {due:%Y-%m-%d %H:%M:%S} UTC"
    if now - due >= PATIENCE:
        text += f", found {(now - due).total_seconds():,.0f} s later: the scheduler did not call"
    return f"{text}. {words}."


@transaction.atomic
def schedule_run(*, schedule: Schedule, actor: User) -> Firing:
    """Fire a schedule now because a person asks; its own times do not move."""
    system = lock_system(schedule.system_id)
    row = Schedule.objects.get(pk=schedule.pk)
    return fire(rule=row, system=system, why=f"{actor.display_name} asked.", person=actor)


def _people(keys: Iterable[int], *more: User | None) -> list[int]:
    """Return the keys of all people, each once."""
    return sorted({*keys, *(person.pk for person in more if person is not None)})
