"""Change what a person is told, and when."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import ApplicationError, check_version
from apps.notifications.domain.timing import due_at
from apps.notifications.models import Notice, NotificationSettings

TIMES = ("timezone", "digest_at", "quiet_from", "quiet_until")


@transaction.atomic
def notification_settings_update(
    *, person: User, expected_version: int, values: Mapping[str, Any]
) -> NotificationSettings:
    """Change the given members of somebody's own settings. What waits to be sent goes by the new
    times. Raises PreconditionFailed when they were changed elsewhere meanwhile, ApplicationError
    naming the field."""
    # The person's row serialises the first change of two windows.
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    row = NotificationSettings.objects.filter(person=person).first()
    row = row or NotificationSettings(person=person, version=0)
    check_version(row, expected_version, "The settings")
    before = {name: getattr(row, name) for name in values}
    for name, value in values.items():
        setattr(row, name, value)
    if (row.quiet_from is None) is not (row.quiet_until is None):
        missing = "quiet_from" if row.quiet_from is None else "quiet_until"
        raise ApplicationError.of_field(missing, "Quiet hours have a beginning and an end.")
    if all(before[name] == getattr(row, name) for name in before):
        return row
    row.version += 1
    row.save()
    if any(before[name] != getattr(row, name) for name in TIMES if name in before):
        now = timezone.now()
        # What is being written into a message this moment goes by the times of before.
        waiting = Notice.objects.select_for_update(skip_locked=True).filter(
            person=person, message=None, over_at=None, due_at__gt=now
        )
        for notice in waiting:
            notice.due_at = due_at(row.rhythm, now)
            notice.save(update_fields=["due_at"])
    return row
