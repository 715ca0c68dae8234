"""Show how parts of a topic's bucket follow its traffic, and let operators stop that."""

from collections.abc import Callable
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.adaptation.api.serializers import AdaptationNoteSerializer, AdaptationSerializer
from apps.adaptation.selectors.standing import standing_of
from apps.adaptation.services import adaptation_resume, adaptation_stop
from apps.catalog.models import Topic
from apps.common.api.preconditions import repeatable


def _topic(id: Any) -> Topic:
    return get_object_or_404(Topic.objects.select_related("system"), public_id=id)


def _answer(request: Request, topic: Topic) -> Response:
    return Response(AdaptationSerializer(standing_of(topic, granted(request))).data)


def _command(request: Request, id: Any, command: Callable[..., None]) -> Response:
    topic = _topic(id)
    form = AdaptationNoteSerializer(data=request.data)
    form.is_valid(raise_exception=True)
    command(topic=topic, actor=actor_of(request), **form.validated_data)
    return _answer(request, topic)


class AdaptationView(APIView):
    """Show the adaptation of a topic's parts."""

    refuses = {"get": (404,)}

    @extend_schema(operation_id="topics_adaptation_retrieve", responses=AdaptationSerializer)
    def get(self, request: Request, id: Any) -> Response:
        """Return how the parts of the topic's bucket follow its traffic, and the decisions."""
        return _answer(request, _topic(id))


class AdaptationStopView(APIView):
    """Stop the adaptation of a topic's parts."""

    needs = {"post": Permission.EXECUTE_PLAN}
    refuses = {"post": (404, 409)}

    @extend_schema(
        operation_id="topics_adaptation_stop",
        request=AdaptationNoteSerializer,
        responses=AdaptationSerializer,
    )
    @repeatable()
    def post(self, request: Request, id: Any) -> Response:
        """Stop moving parts and return to those in force, at once and without a plan."""
        return _command(request, id, adaptation_stop)


class AdaptationResumeView(APIView):
    """Let the parts of a topic move again."""

    needs = {"post": Permission.EXECUTE_PLAN}
    refuses = {"post": (404, 409)}

    @extend_schema(
        operation_id="topics_adaptation_resume",
        request=AdaptationNoteSerializer,
        responses=AdaptationSerializer,
    )
    @repeatable()
    def post(self, request: Request, id: Any) -> Response:
        """Let parts move again that somebody has stopped."""
        return _command(request, id, adaptation_resume)
