"""Take metrics as collectors send them: each request is a batch of samples."""

import hashlib

from django.conf import settings

from apps.accounts.models import User
from apps.common.errors import ApplicationError
from apps.records.models import RecordBatch, RecordTable
from apps.records.selectors import settings_of
from apps.records.services.batches import batch_id, batch_repeated, batch_take
from apps.runs.services.gateway import metric_protocols, packed_metrics
from apps.systems.models import System
from weir.errors import InvalidProblem


def metrics_receive(
    *, system: System, body: bytes, media_type: str, packing: str, actor: User | None
) -> RecordBatch | None:
    """Check and keep the samples of a request; return their batch, None where it has no samples.

    The name of the batch is the digest of what was packed, so that what a collector sends again
    counts once. Raises ApplicationError where it cannot be read or is too large.
    """
    unpacking, table = packed_metrics(), RecordTable.SAMPLES
    try:
        plain = unpacking.unpacked(body, packing, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        sha256 = hashlib.sha256(plain).hexdigest()
        before = batch_repeated(system, table, sha256, sha256)
        if before is not None:
            return before
        rows = metric_protocols().metric_rows(plain, media_type)
    except unpacking.TooLong as error:
        message = f"The body {error.message}."
        raise ApplicationError("too_large", message, status=413) from error
    except InvalidProblem as error:
        raise ApplicationError.of_field(error.path, error.message) from error
    if not len(rows):
        return None
    batch = RecordBatch(
        public_id=batch_id(system, table, sha256),
        system=system,
        table=table,
        name=sha256,
        sha256=sha256,
        media_type=media_type,
        size_bytes=len(plain),
        sent_by=actor,
    )
    return batch_take(batch, rows, late_after_s=settings_of(system).late_after_s)[0]
