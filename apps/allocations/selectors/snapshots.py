"""Read frozen models back as plain data, up to a size that a page can wait for."""

import json
from typing import Any

from django.db.models.functions import Length

from apps.runs.models import Run, Snapshot

LARGEST_BYTES = 50_000_000
"""The size of about 300,000 classes: reading more would take seconds."""


def snapshot_plain(run: Run) -> dict[str, Any] | None:
    """Return the problem that the run saw (docs/formats.md); None where it is too large to read."""
    size = (
        Snapshot.objects.annotate(size=Length("payload"))
        .values_list("size", flat=True)
        .get(pk=run.snapshot_id)
    )
    if size > LARGEST_BYTES:
        return None
    payload = Snapshot.objects.values_list("payload", flat=True).get(pk=run.snapshot_id)
    plain: dict[str, Any] = json.loads(bytes(payload))
    return plain
