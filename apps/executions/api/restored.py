"""Show that a database was restored, and let an operator declare that it counts from now on."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.common.api.forms import Form
from apps.common.api.preconditions import repeatable
from apps.executions.services.restored import restored_adopt, restored_text
from apps.systems.models import System


class RestoredSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe whether agents of the system have obeyed more than this database knows."""

    restored = serializers.BooleanField(help_text="No documents are sent to the system's agents.")
    problem = serializers.CharField(
        allow_blank=True, help_text="Which agents, which numbers, and what to do; empty: nothing."
    )
    allowed_commands = serializers.ListField(
        child=serializers.ChoiceField(choices=[("adopt_restored", "adopt_restored")]),
        help_text="What you may do about it now.",
    )


class AdoptSerializer(Form[dict[str, Any]]):
    """Read the confirmation that agents shall obey this database, although they have obeyed newer
    documents."""

    reason = serializers.CharField(max_length=500, help_text="Why; it stands in the audit.")


class AdoptedSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe from which number on documents are obeyed again."""

    number = serializers.IntegerField()


class RestoredView(APIView):
    """Show whether the database behind a system was restored."""

    @extend_schema(operation_id="systems_restored_retrieve", responses=RestoredSerializer)
    def get(self, request: Request, id: str) -> Response:
        """Return the agents that have obeyed documents which this database does not know."""
        text = restored_text(get_object_or_404(System, public_id=id))
        may = text and Permission.EXECUTE_PLAN in granted(request)
        answer = {
            "restored": bool(text),
            "problem": text,
            "allowed_commands": ["adopt_restored"] if may else [],
        }
        return Response(RestoredSerializer(answer).data)


class AdoptRestoredView(APIView):
    """Go on from a database that was restored."""

    needs = {"post": Permission.EXECUTE_PLAN}

    @extend_schema(
        operation_id="systems_adopt_restored",
        request=AdoptSerializer,
        responses=AdoptedSerializer,
    )
    @repeatable()
    def post(self, request: Request, id: str) -> Response:
        """Let agents obey this database again, and take back what they have obeyed beyond it."""
        form = AdoptSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        number = restored_adopt(
            system=get_object_or_404(System, public_id=id),
            actor=actor_of(request),
            reason=form.validated_data["reason"],
        )
        return Response(AdoptedSerializer({"number": number}).data)
