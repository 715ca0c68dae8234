"""Change what a person or a channel is told, and when; what waits follows."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.common.errors import ApplicationError
from apps.notifications.domain.timing import Rhythm, due_at
from apps.notifications.models import Choice, Message, Notice


def choice_change(row: Choice, values: Mapping[str, Any]) -> bool:
    """Set the given members of a row, unsaved. Returns whether its times differ from before.

    Raises ApplicationError naming the field where quiet hours lack one end.
    """
    before = row.rhythm
    for name, value in values.items():
        setattr(row, name, value)
    if (row.quiet_from is None) is not (row.quiet_until is None):
        missing = "quiet_from" if row.quiet_from is None else "quiet_until"
        raise ApplicationError.of_field(missing, "Quiet hours have a beginning and an end.")
    return row.rhythm != before


def due_times_follow(whose: Mapping[str, Any], rhythm: Rhythm, now: datetime) -> None:
    """Let what waits for somebody go by other times; what names them in its rows is `whose`."""
    # What is being written into a message this moment goes by the times of before.
    waiting = Notice.objects.select_for_update(skip_locked=True).filter(
        **whose, message=None, over_at=None, due_at__gt=now
    )
    for notice in waiting:
        notice.due_at = due_at(rhythm, now)
        notice.save(update_fields=["due_at"])
    # It may wait for the end of quiet hours that are others now; each attempt looks at them anew.
    Message.objects.filter(**whose, sent_at=None, given_up_at=None).update(next_at=now)
