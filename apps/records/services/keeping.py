"""Change for how long records are kept, and remove those that were kept that long."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.records.models import RecordBatch, RecordSettings
from apps.records.selectors import RECORDS, records_folder, settings_of
from apps.runs.services.gateway import data_folder, landing
from apps.systems.models import System
from apps.systems.services import row_update

UNFINISHED_FOR = timedelta(days=1)
"""A file without a batch is younger only while somebody writes it, or will write it again."""
AT_ONCE = 1000


def settings_update(*, settings: RecordSettings, **change: Any) -> RecordSettings:
    """Change the given members, as `row_update` does."""
    return row_update(settings=settings, topic="record_settings", **change)


def records_tidy() -> int:
    """Delete batches that are older than their system keeps them, and files without a batch.
    Returns how many batches were deleted."""
    # What lands from now on is younger than what is removed.
    before_s = (timezone.now() - UNFINISHED_FOR).timestamp()
    count = 0
    for system in System.objects.all():
        limit = timezone.now() - timedelta(days=settings_of(system).keep_records_days)
        old = RecordBatch.objects.filter(
            system=system, created_at__lt=limit, rolled_up_at__isnull=False
        )
        while keys := list(old.order_by("id").values_list("pk", flat=True)[:AT_ONCE]):
            RecordBatch.objects.filter(pk__in=keys).delete()
            count += len(keys)
        known = set(RecordBatch.objects.filter(system=system).values_list("public_id", flat=True))
        landing().remove_files(
            records_folder(system), kept=known.__contains__, unchanged_since_s=before_s
        )
    there = {str(public_id) for public_id in System.objects.values_list("public_id", flat=True)}
    for name in set(landing().folders_in(data_folder(RECORDS))) - there:
        landing().remove_files(
            data_folder(f"{RECORDS}/{name}"), kept=lambda _: False, unchanged_since_s=before_s
        )
    return count
