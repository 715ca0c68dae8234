"""Change what a person is told, and when."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.common.errors import check_version
from apps.notifications.models import NotificationSettings
from apps.notifications.services.choices import choice_change, due_times_follow


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
    moves_times = choice_change(row, values)
    if all(before[name] == getattr(row, name) for name in before):
        return row
    row.version += 1
    row.save()
    if moves_times:
        due_times_follow({"person": person}, row.rhythm, timezone.now())
    return row
