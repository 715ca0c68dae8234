"""Take records of batches and files, decide on what was set aside, keep no more than is wanted."""

from apps.records.services.batches import (
    Choice,
    batch_receive,
    set_aside_discard,
    set_aside_replay,
)
from apps.records.services.importing import FailedFile, Imported, records_import
from apps.records.services.keeping import records_tidy, settings_update
from apps.records.services.measurements import measurements_take
from apps.records.services.metrics import metrics_receive

__all__ = [
    "Choice",
    "FailedFile",
    "Imported",
    "batch_receive",
    "measurements_take",
    "metrics_receive",
    "records_import",
    "records_tidy",
    "set_aside_discard",
    "set_aside_replay",
    "settings_update",
]
