"""Store which batches of records arrived, and the rows that were set aside."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.systems.models import System


class RecordTable(models.TextChoices):
    """Name what records are about; docs/formats.md has their columns."""

    MESSAGES = "messages", "Messages"
    DELIVERIES = "deliveries", "Deliveries"
    REQUESTS = "requests", "Requests"
    SAMPLES = "samples", "Samples"
    DELAYS = "delays", "Delays"


class RecordBatch(BaseModel):
    """Store one batch of records that arrived: what became of its rows.

    The rows that fit lie in Parquet files named by the batch. A batch counts once this row is
    there; a file without one is what a process that died has left, and is written over by the
    sender's repeat.
    """

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="record_batches")
    table = models.CharField(max_length=16, choices=RecordTable.choices)
    name = models.CharField(
        max_length=200,
        help_text="The sender's, or the digest of what was sent; those of Weir begin with `weir:`.",
    )
    sha256 = models.CharField(max_length=64)
    media_type = models.CharField(max_length=100, blank=True)
    size_bytes = models.PositiveBigIntegerField()
    rows = models.PositiveIntegerField()
    accepted = models.PositiveIntegerField()
    since_s = models.FloatField(null=True, help_text="Of the accepted rows; null: there are none.")
    until_s = models.FloatField(null=True)
    repeats = models.PositiveIntegerField(default=0)
    repeated_at = models.DateTimeField(null=True)
    sent_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    replay_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="replays"
    )
    rolled_up_at = models.DateTimeField(
        null=True, help_text="When its rows were added to the sums; null: they wait for that."
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "table", "name"], name="record_batch_once_per_name"
            ),
            models.CheckConstraint(
                condition=Q(table__in=RecordTable.values), name="record_batch_table_known"
            ),
            models.CheckConstraint(
                condition=Q(accepted__lte=models.F("rows")), name="record_batch_accepted_of_rows"
            ),
            models.CheckConstraint(
                condition=Q(accepted=0, since_s=None, until_s=None)
                | Q(accepted__gt=0, since_s__lte=models.F("until_s")),
                name="record_batch_accepted_have_times",
            ),
        ]
        indexes = [
            models.Index(fields=["system", "-id"], name="record_batch_by_system"),
            models.Index(
                fields=["system", "id"],
                condition=Q(rolled_up_at=None),
                name="record_batch_to_roll_up",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.table} {self.name}"


class SetAsideRow(models.Model):
    """Store one row that did not fit, until somebody has it taken after all or discards it."""

    batch = models.ForeignKey(RecordBatch, on_delete=models.CASCADE, related_name="set_aside")
    row = models.PositiveIntegerField(help_text="Its place in the batch; the first is 0.")
    problem = models.CharField(max_length=200)
    content = models.BinaryField(help_text="As it was sent; a row of Parquet as JSON.")
    whole = models.BooleanField(
        help_text="The content is all of the row: it can be checked again as it is."
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    taken_in = models.ForeignKey(
        RecordBatch,
        on_delete=models.SET_NULL,
        null=True,
        related_name="taken",
        help_text="The batch that has it now; null: it waits, or was discarded.",
    )

    class Meta:
        ordering = ["batch_id", "row"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "row"], name="set_aside_once_per_row"),
            models.CheckConstraint(
                condition=Q(taken_in=None) | Q(ended_at__isnull=False),
                name="set_aside_taken_has_a_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["batch", "problem"], condition=Q(ended_at=None), name="set_aside_waiting"
            )
        ]

    def __str__(self) -> str:
        return f"row {self.row} of {self.batch}"


class RecordSettings(BaseModel):
    """Store until when records are taken and for how long they are kept."""

    system = models.OneToOneField(System, on_delete=models.CASCADE, related_name="record_settings")
    late_after_s = models.PositiveIntegerField(
        default=86_400,
        validators=[MinValueValidator(1), MaxValueValidator(366 * 86_400)],
        help_text="Older records are set aside when they arrive, s.",
    )
    keep_records_days = models.PositiveIntegerField(
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(3660)],
        help_text="How long batches, their rows and what was set aside are kept, days.",
    )
    keep_sums_days = models.PositiveIntegerField(
        default=400,
        validators=[MinValueValidator(1), MaxValueValidator(3660)],
        help_text="How long sums by minute are kept, days.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name_plural = "record settings"
        constraints = [
            models.CheckConstraint(
                condition=Q(late_after_s__gte=1, late_after_s__lte=366 * 86_400)
                & Q(keep_records_days__gte=1, keep_records_days__lte=3660)
                & Q(keep_sums_days__gte=1, keep_sums_days__lte=3660),
                name="record_settings_in_bounds",
            )
        ]

    def __str__(self) -> str:
        return f"record settings of {self.system}"
