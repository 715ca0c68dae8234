"""Shape batches of records, and what was set aside, for the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import EDIT_ONLY, PublicId, choices, command_list
from apps.common.api.forms import Form, ModelForm
from apps.records.models import RecordBatch, RecordSettings, RecordTable, SetAsideRow
from apps.records.services.batches import RESERVED
from apps.systems.api.entities import SystemReference

SET_ASIDE_STATES = choices("waiting", "taken", "discarded")
SET_ASIDE_COMMANDS = choices("replay", "discard")
MOST_ROWS = 100_000
"""Of a batch."""
LONGEST_SHOWN = 2000
"""Characters of a row that a list shows."""


class RecordBatchQuery(Form[dict[str, Any]]):
    """Read which records a batch has."""

    system = SystemReference(help_text="The system that they are about.")
    table = serializers.ChoiceField(choices=RecordTable.choices)
    batch = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=200,
        help_text="A name that no other batch of this table has; left out: the SHA-256 of the "
        "body, so that the same bytes are taken once. Not one that begins with `weir:`.",
    )

    def validate_batch(self, name: str) -> str:
        if name.startswith(RESERVED):
            raise serializers.ValidationError(f"Names that begin with {RESERVED} are Weir's own.")
        if not name.isprintable():
            raise serializers.ValidationError("Holds a character that cannot be shown.")
        return name


class MetricsQuery(Form[dict[str, Any]]):
    """Read which system metrics are about."""

    system = SystemReference(help_text="The system that they are about.")


class PartialSuccessSerializer(serializers.Serializer[Any]):
    """Describe what of an export was set aside, in the words of OTLP."""

    rejectedDataPoints = serializers.CharField(
        help_text="How many points were set aside: a whole number, which OTLP writes as text."
    )
    errorMessage = serializers.CharField(help_text="Why, the most frequent reason first.")


class ExportedSerializer(serializers.Serializer[Any]):
    """Describe what became of an export, in the words of OTLP."""

    partialSuccess = PartialSuccessSerializer(
        required=False, help_text="Left out where every point counts."
    )


class RecordBatchSerializer(serializers.ModelSerializer[RecordBatch]):
    """Describe a batch of records: what became of its rows."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    sent_by = serializers.CharField(
        source="sent_by.display_name", read_only=True, allow_null=True, default=None
    )
    replay_of = serializers.UUIDField(
        source="replay_of.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The batch whose rows were set aside and taken later in this one.",
    )
    replay_of_name = serializers.CharField(
        source="replay_of.name", read_only=True, allow_null=True, default=None
    )
    waiting = serializers.IntegerField(
        read_only=True, help_text="Rows that were set aside and wait for a decision."
    )
    taken_later = serializers.IntegerField(
        read_only=True, help_text="Rows that were set aside and are in a later batch now."
    )
    discarded = serializers.IntegerField(
        read_only=True, help_text="Rows that were set aside and given up."
    )

    class Meta:
        model = RecordBatch
        fields = [
            "id",
            "system",
            "system_name",
            "table",
            "name",
            "sha256",
            "media_type",
            "size_bytes",
            "rows",
            "accepted",
            "waiting",
            "taken_later",
            "discarded",
            "since_s",
            "until_s",
            "repeats",
            "repeated_at",
            "sent_by",
            "replay_of",
            "replay_of_name",
            "created_at",
            "rolled_up_at",
        ]
        read_only_fields = fields
        extra_kwargs = {
            "name": {"help_text": "The sender's, or the SHA-256 of what was sent."},
            "sha256": {"help_text": "Of what was sent."},
            "size_bytes": {"help_text": "Of what was sent, bytes."},
            "rows": {"help_text": "How many there were."},
            "accepted": {"help_text": "Rows that fit when the batch arrived."},
            "since_s": {"help_text": "First moment of the accepted rows, Unix seconds."},
            "until_s": {"help_text": "Last moment of the accepted rows, Unix seconds."},
            "repeats": {"help_text": "How often the same batch was sent again; it counts once."},
            "rolled_up_at": {
                "help_text": "When its rows were added to the sums; null: they wait for it."
            },
        }


class SetAsideSerializer(serializers.ModelSerializer[SetAsideRow]):
    """Describe a row that did not fit."""

    batch = serializers.UUIDField(source="batch.public_id", read_only=True)
    batch_name = serializers.CharField(source="batch.name", read_only=True)
    table = serializers.ChoiceField(
        source="batch.table", choices=RecordTable.choices, read_only=True
    )
    arrived_at = serializers.DateTimeField(source="batch.created_at", read_only=True)
    state = serializers.SerializerMethodField()
    content = serializers.SerializerMethodField(
        help_text=f"As it was sent, {LONGEST_SHOWN:,} characters at most; a row of Parquet or CSV "
        "as JSON."
    )
    is_cut = serializers.SerializerMethodField(help_text="`content` is longer than it is shown.")
    is_whole = serializers.BooleanField(
        source="whole",
        read_only=True,
        help_text="It can be checked again as it is. Otherwise it was too long to be kept, or no "
        "row of the table, and fits only once it is amended.",
    )
    ended_by = serializers.CharField(
        source="ended_by.display_name", read_only=True, allow_null=True, default=None
    )
    taken_in = serializers.UUIDField(
        source="taken_in.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The batch that has it now.",
    )
    taken_in_name = serializers.CharField(
        source="taken_in.name", read_only=True, allow_null=True, default=None
    )

    class Meta:
        model = SetAsideRow
        fields = [
            "batch",
            "batch_name",
            "table",
            "row",
            "problem",
            "content",
            "is_cut",
            "is_whole",
            "arrived_at",
            "state",
            "ended_at",
            "ended_by",
            "taken_in",
            "taken_in_name",
        ]
        read_only_fields = fields
        extra_kwargs = {"row": {"help_text": "Its place in the batch, from 0."}}

    @extend_schema_field(serializers.ChoiceField(choices=SET_ASIDE_STATES))
    def get_state(self, row: SetAsideRow) -> str:
        if row.ended_at is None:
            return "waiting"
        return "discarded" if row.taken_in_id is None else "taken"

    def get_content(self, row: SetAsideRow) -> str:
        return self._text(row)[:LONGEST_SHOWN]

    def get_is_cut(self, row: SetAsideRow) -> bool:
        return len(self._text(row)) > LONGEST_SHOWN

    def _text(self, row: SetAsideRow) -> str:
        return bytes(row.content).decode("utf-8", "replace")


class AmendedRowSerializer(Form[dict[str, Any]]):
    """Read what stands for a row that was set aside."""

    row = serializers.IntegerField(
        min_value=0, max_value=MOST_ROWS, help_text="Its place in the batch, from 0."
    )
    content = serializers.CharField(
        max_length=65_536, help_text="The whole row as a JSON object, as in JSON lines."
    )


class ChoiceSerializer(Form[dict[str, Any]]):
    """Read which rows are meant: of those that wait, all that match what is given."""

    system = SystemReference(help_text="Whose rows.")
    table = serializers.ChoiceField(
        choices=RecordTable.choices, required=False, help_text="Rows of this table alone."
    )
    problem = serializers.CharField(
        required=False, max_length=200, help_text="Rows with this problem alone."
    )
    batch = PublicId(
        queryset=RecordBatch.objects.all(), required=False, help_text="Rows of this batch alone."
    )
    rows = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MOST_ROWS),
        required=False,
        allow_empty=False,
        max_length=10_000,
        help_text="These rows of the batch alone, by their places.",
    )
    reason = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=500, help_text="For the audit."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        batch = attrs.get("batch")
        if batch is not None and batch.system_id != attrs["system"].pk:
            raise serializers.ValidationError({"batch": "It is of another system."})
        if "rows" in attrs and batch is None:
            raise serializers.ValidationError({"rows": "Name the `batch` that they are of."})
        return attrs


class ReplaySerializer(ChoiceSerializer):
    """Read which rows are checked again, and what stands for some of them."""

    amended = AmendedRowSerializer(
        many=True,
        required=False,
        max_length=1000,  # type: ignore[call-arg]
        help_text="Rows of the batch, in other words than they were sent.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if attrs.get("amended") and "batch" not in attrs:
            raise serializers.ValidationError({"amended": "Name the `batch` of these rows."})
        rows = [each["row"] for each in attrs.get("amended", [])]
        twice = [row for row in rows if rows.count(row) > 1]
        if twice:
            raise serializers.ValidationError({"amended": f"Row {twice[0]} stands here twice."})
        return attrs


class RefusedRowSerializer(serializers.Serializer[Any]):
    """Describe what is wrong with a row as it was amended."""

    batch = serializers.UUIDField(source="batch.public_id")
    batch_name = serializers.CharField(source="batch.name")
    row = serializers.IntegerField(help_text="Its place in the batch, from 0.")
    problem = serializers.CharField()


class ReplayedSerializer(serializers.Serializer[Any]):
    """Describe what became of rows that were checked again."""

    taken = serializers.IntegerField(help_text="Rows that fit now, and count.")
    set_aside = serializers.IntegerField(help_text="Rows that do not fit now either.")
    left = serializers.IntegerField(
        help_text="Rows that match and were not looked at: one request takes 20,000."
    )
    amended = RefusedRowSerializer(
        many=True, help_text="Rows that do not fit as they were amended; they stay as they were."
    )


class DiscardedSerializer(serializers.Serializer[Any]):
    """Describe how many rows were given up."""

    discarded = serializers.IntegerField(help_text="Rows that were given up.")
    left = serializers.IntegerField(
        help_text="Rows that match and still wait: one request takes 20,000."
    )


class TableCountsSerializer(serializers.Serializer[Any]):
    """Describe what arrived of one table of records."""

    table = serializers.ChoiceField(choices=RecordTable.choices)
    batches = serializers.IntegerField(help_text="Batches, those of rows taken later included.")
    rows = serializers.IntegerField(help_text="Rows that were sent, each once.")
    accepted = serializers.IntegerField(help_text="Rows that count, those taken later included.")
    repeats = serializers.IntegerField(help_text="Batches that were sent again.")
    latest = serializers.DateTimeField(help_text="When the latest batch arrived.")
    to_roll_up = serializers.IntegerField(help_text="Batches that are not in the sums yet.")


class ProblemCountsSerializer(serializers.Serializer[Any]):
    """Describe how many rows wait with one problem."""

    table = serializers.ChoiceField(choices=RecordTable.choices)
    problem = serializers.CharField(help_text="The column and what is wrong.")
    rows = serializers.IntegerField(help_text="Rows that wait.")
    latest = serializers.DateTimeField(help_text="When the latest of them arrived.")


class RecordCountsSerializer(serializers.Serializer[Any]):
    """Describe what arrived of a system, and what waits for a decision."""

    tables = TableCountsSerializer(many=True)
    waiting = ProblemCountsSerializer(many=True)
    allowed_commands = serializers.ListField(
        child=serializers.ChoiceField(choices=SET_ASIDE_COMMANDS),
        help_text="What the caller may do with rows that wait.",
    )


class RecordSettingsSerializer(ModelForm[RecordSettings]):
    """Describe until when records are taken, and for how long they are kept."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    class Meta:
        model = RecordSettings
        fields = [
            "id",
            "system",
            "system_name",
            "late_after_s",
            "keep_records_days",
            "keep_sums_days",
            "version",
            "updated_at",
            "allowed_commands",
            "reason",
        ]
        read_only_fields = ["version", "updated_at"]

    @extend_schema_field(command_list(EDIT_ONLY))
    def get_allowed_commands(self, row: RecordSettings) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.EDIT_MODEL in granted(request)
        return ["edit"] if may else []
