"""Describe studies over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.allocations.api.serializers import STATUSES
from apps.allocations.models import Allocation, Place
from apps.common.api.fields import choices, command_list
from apps.common.api.forms import Form
from apps.runs.api.views import RUN_STATES, RunSerializer
from apps.studies.models import Study, StudyKind, StudyPoint
from apps.studies.services.points import FIELDS
from apps.systems.api.entities import Reference, SystemReference
from weir.lifecycle.runs import ENDED, RunState
from weir.scenarios.outcome import FAILED, INVALID


class StudyCheckRequestSerializer(Form[dict[str, Any]]):
    """Read which system to study, and the question."""

    system = SystemReference()
    spec = serializers.DictField(help_text="A sweep or a schedule, as docs/what-if.md describes.")
    allocation = Reference(
        Allocation,
        required=False,
        allow_null=True,
        default=None,
        help_text="Study its snapshot instead of the model as it is now.",
    )


class StudyRequestSerializer(StudyCheckRequestSerializer):
    """Read which system to study, the question and the name of the study."""

    name = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="Default: what varies.",
    )


class StudyChangeSerializer(Form[dict[str, Any]]):
    """Read what of a study may change."""

    name = serializers.CharField(max_length=200)


class StudyCheckSerializer(serializers.Serializer[Any]):
    """Describe what a study would need."""

    points = serializers.IntegerField(help_text="Answers to compute.")
    estimated_s = serializers.FloatField(
        allow_null=True, help_text="By how long such answers took before; null where none did."
    )
    spec = serializers.DictField(help_text="As it would be kept, every default written out.")


STUDY_COMMANDS = choices("cancel", "rerun", "rename", "delete")
POINT_STATUSES = [*STATUSES, *choices(INVALID, FAILED)]


class StudySerializer(serializers.ModelSerializer[Study]):
    """Describe a study without its points."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    kind = serializers.ChoiceField(choices=StudyKind.choices, read_only=True)
    state = serializers.ChoiceField(source="run.state", choices=RUN_STATES, read_only=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_number = serializers.IntegerField(source="run.pk", read_only=True)
    allocation = serializers.UUIDField(
        source="allocation.public_id", read_only=True, allow_null=True, default=None
    )
    allocation_number = serializers.IntegerField(
        source="allocation.number", read_only=True, allow_null=True, default=None
    )
    author_id = serializers.UUIDField(
        source="author.public_id", read_only=True, allow_null=True, default=None
    )
    author = serializers.CharField(
        source="author.display_name", read_only=True, allow_null=True, default=None
    )
    model_version = serializers.IntegerField(
        source="run.snapshot.model_version", read_only=True, allow_null=True
    )
    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    result_hash = serializers.CharField(
        source="run.result.content_hash", read_only=True, allow_null=True, default=None
    )
    failure = serializers.CharField(source="run.failure", read_only=True)
    cancel_requested = serializers.SerializerMethodField()
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True, allow_null=True)
    finished_at = serializers.DateTimeField(
        source="run.finished_at", read_only=True, allow_null=True
    )
    points_done = serializers.IntegerField(read_only=True)
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Study
        fields = [
            "id",
            "number",
            "name",
            "kind",
            "system",
            "system_name",
            "state",
            "run",
            "run_number",
            "allocation",
            "allocation_number",
            "author",
            "author_id",
            "model_version",
            "snapshot_hash",
            "result_hash",
            "failure",
            "cancel_requested",
            "created_at",
            "updated_at",
            "started_at",
            "finished_at",
            "points_done",
            "points_total",
            "version",
            "allowed_commands",
        ]
        read_only_fields = fields

    def get_cancel_requested(self, study: Study) -> bool:
        return study.run.cancel_requested_at is not None

    @extend_schema_field(command_list(STUDY_COMMANDS))
    def get_allowed_commands(self, study: Study) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.START_RUN not in granted(request):
            return []
        commands = RunSerializer(context=self.context).get_allowed_commands(study.run)
        ended = RunState(study.run.state) in ENDED
        return [*commands, "rename", *(["delete"] if ended else [])]


class StudyDetailSerializer(StudySerializer):
    """Describe a study with its question."""

    spec = serializers.DictField(read_only=True)

    class Meta(StudySerializer.Meta):
        fields = [*StudySerializer.Meta.fields, "spec"]
        read_only_fields = fields


class PriceSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the value of one more unit of a resource."""

    kind = serializers.ChoiceField(choices=Place.choices)
    id = serializers.CharField()
    resource = serializers.CharField(allow_null=True)
    price = serializers.FloatField()


class GroupCountSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe how many consumers of one group of classes are admitted."""

    name = serializers.CharField()
    admitted = serializers.IntegerField()
    wanted = serializers.IntegerField()


class StudyPointSerializer(serializers.ModelSerializer[StudyPoint]):
    """Describe the answer to one scenario with one method."""

    status = serializers.ChoiceField(choices=POINT_STATUSES, read_only=True)
    coordinates = serializers.ListField(
        child=serializers.JSONField(),
        read_only=True,
        help_text="One per axis: a number, or an id.",
    )
    quantities = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        read_only=True,
        help_text="What the axis set, in units of work per second or consumers.",
    )
    marginals = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        read_only=True,
        help_text="Utility per unit of that quantity.",
    )
    prices = PriceSerializer(many=True, read_only=True)
    groups = GroupCountSerializer(many=True, read_only=True)
    division = serializers.DictField(
        child=serializers.FloatField(),
        read_only=True,
        help_text="What each node gets of a budget divided where it is worth most.",
    )
    rates = serializers.DictField(
        child=serializers.FloatField(), read_only=True, allow_null=True, help_text="msg/s by flow"
    )

    class Meta:
        model = StudyPoint
        fields = list(FIELDS)
        read_only_fields = fields
