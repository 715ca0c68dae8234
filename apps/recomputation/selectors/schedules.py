"""Read schedules, triggers and firings with all that their lists show."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.utils import timezone

from apps.common.errors import ApplicationError
from apps.policies.domain.windows import cron_error, timezone_error
from apps.recomputation.domain.timing import LEAST_EVERY_S, in_words, upcoming
from apps.recomputation.models import Firing, Schedule, Trigger

PREVIEWED = 5


def firing_rows() -> QuerySet[Firing]:
    """Firings with everything that a list shows."""
    return Firing.objects.select_related(
        "system", "schedule", "trigger", "run", "plan", "answerable", "merged_into"
    ).defer("plan__document")


def firing_count_by_rule() -> dict[tuple[str, str, str], int]:
    """Return the number of firings by system, former name of the rule, and state, for metrics."""
    rows = Firing.objects.values_list("system__name", "cause", "state").annotate(n=Count("id"))
    return {(system, rule, state): n for system, rule, state, n in rows.order_by()}


def schedule_rows() -> QuerySet[Schedule]:
    """Return the schedules, each annotated with the key of its last firing."""
    last = Firing.objects.filter(schedule=OuterRef("pk")).order_by("-id").values("pk")[:1]
    return Schedule.objects.select_related("system", "answerable").annotate(
        last_firing_pk=Subquery(last)
    )


def trigger_rows() -> QuerySet[Trigger]:
    """Return the triggers, each annotated with the key of its last firing."""
    last = Firing.objects.filter(trigger=OuterRef("pk")).order_by("-id").values("pk")[:1]
    return Trigger.objects.select_related("system", "answerable").annotate(
        last_firing_pk=Subquery(last)
    )


def last_firings(rows: Sequence[Any]) -> dict[int, Firing]:
    """Return the last firings of these schedules or triggers, by their own key, in one query."""
    keys = [row.last_firing_pk for row in rows if getattr(row, "last_firing_pk", None)]
    return {firing.pk: firing for firing in firing_rows().filter(pk__in=keys)} if keys else {}


def preview(
    *, every_s: int | None, cron: str, zone: str, after: datetime | None = None
) -> dict[str, Any]:
    """Return a schedule in plain words and its next five times. Raises ApplicationError."""
    message, field = None, "every_s"
    if (every_s is None) == (not cron):
        message = "Give either an interval or a cron expression."
    elif every_s is not None and every_s < LEAST_EVERY_S:
        message = f"At least {LEAST_EVERY_S} s."
    elif cron and cron_error(cron):
        message, field = cron_error(cron), "cron"
    elif timezone_error(zone):
        message, field = timezone_error(zone), "timezone"
    if message:
        raise ApplicationError.of_field(field, message)
    times = upcoming(every_s=every_s, cron=cron, timezone=zone, after=after or timezone.now())
    return {
        "text": in_words(every_s=every_s, cron=cron, timezone=zone),
        "next": list(islice(times, PREVIEWED)),
    }
