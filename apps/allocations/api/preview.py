"""Show over the REST API what a draft of utility functions would change; this stores nothing."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.domain.roles import Permission
from apps.allocations.api.serializers import STATUSES
from apps.allocations.selectors.against import KINDS
from apps.allocations.services.preview import Preview, PreviewChange, utilities_preview
from apps.common.api.forms import Form
from apps.systems.models import System

MOST_DRAFTS = 100


class UtilityDraftSerializer(Form[dict[str, Any]]):
    """Read a utility function that is being edited."""

    kind = serializers.CharField(max_length=32)
    parameters = serializers.DictField()


class DraftsField(serializers.DictField):
    """Read a limited number of drafts; too many are refused before any of them is checked."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > MOST_DRAFTS:
            raise serializers.ValidationError(f"At most {MOST_DRAFTS} drafts.")
        return super().to_internal_value(data)


class PreviewRequestSerializer(Form[dict[str, Any]]):
    """Read drafts by the id of the utility function that each would replace."""

    utilities = DraftsField(child=UtilityDraftSerializer(), allow_empty=False)

    def validate_utilities(self, drafts: dict[str, Any]) -> dict[Any, Any]:
        field = serializers.UUIDField()
        return {field.run_validation(key): draft for key, draft in drafts.items()}


class PreviewChangeSerializer(serializers.Serializer[PreviewChange]):
    """Describe one quantity without and with the draft."""

    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    detail = serializers.CharField(help_text="Resource of a node's price; flow of a class.")
    before = serializers.FloatField()
    after = serializers.FloatField()
    of_draft = serializers.BooleanField(help_text="One of the draft's own classes or topics.")


class PreviewSerializer(serializers.Serializer[Preview]):
    """Compare the model solved without and with the draft, by the same method from the same
    prices."""

    status = serializers.ChoiceField(choices=STATUSES)
    reason = serializers.CharField(help_text="Why nothing is feasible, where nothing is.")
    method = serializers.CharField()
    model_version = serializers.IntegerField()
    start = serializers.UUIDField(
        source="start.public_id",
        allow_null=True,
        default=None,
        help_text="The allocation whose prices the computation began with.",
    )
    start_name = serializers.CharField(source="start", allow_null=True, default=None)
    utility_before = serializers.FloatField(
        help_text="What rates and consumers are worth now, by the draft's utility functions."
    )
    utility_after = serializers.FloatField(help_text="The same with the draft.")
    saved_utility_before = serializers.FloatField(
        help_text="What they are worth now, by the functions as they are saved."
    )
    saved_utility_after = serializers.FloatField(help_text="The same with the draft.")
    admitted_before = serializers.IntegerField()
    admitted_after = serializers.IntegerField()
    changes = PreviewChangeSerializer(
        many=True, help_text="Changes of the draft's own topics and classes come first."
    )
    changes_in_all = serializers.IntegerField()
    runtime_s = serializers.FloatField()


class PreviewView(APIView):
    """Show the effect of edited utility functions before they are saved."""

    needs = {"post": Permission.EDIT_MODEL}
    refuses = {"post": (422, 429)}

    @extend_schema(
        operation_id="system_preview", request=PreviewRequestSerializer, responses=PreviewSerializer
    )
    def post(self, request: Request, id: str) -> Response:
        """Return rates, admissions and prices without and with the draft, within about a second."""
        form = PreviewRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        system = get_object_or_404(System, public_id=id)
        preview = utilities_preview(system=system, drafts=form.validated_data["utilities"])
        return Response(PreviewSerializer(preview).data)
