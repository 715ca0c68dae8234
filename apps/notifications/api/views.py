"""Serve what the caller is told, and when."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.api.views import person_in_session
from apps.accounts.domain.roles import Permission
from apps.common.api.preconditions import etag, expected_version
from apps.notifications.api.serializers import NotificationSettingsSerializer
from apps.notifications.models import NotificationSettings
from apps.notifications.services import notification_settings_update, settings_of

IF_MATCH = OpenApiParameter("If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, required=True)


class NotificationsView(APIView):
    """Show and change what the caller is told by e-mail, and when."""

    needs = {"patch": Permission.OWN_ACCOUNT}

    @extend_schema(
        operation_id="session_notifications_retrieve", responses=NotificationSettingsSerializer
    )
    def get(self, request: Request) -> Response:
        """Return what the caller is told by e-mail, and when."""
        return _answer(settings_of(actor_of(request)))

    @extend_schema(
        operation_id="session_notifications_update",
        parameters=[IF_MATCH],
        request=NotificationSettingsSerializer,
        responses=NotificationSettingsSerializer,
    )
    def patch(self, request: Request) -> Response:
        """Change the given members of what the caller is told. Needs a session."""
        person = person_in_session(request, "change what you are told")
        form = NotificationSettingsSerializer(data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        row = notification_settings_update(
            person=person,
            expected_version=expected_version(request),
            values=form.validated_data,
        )
        return _answer(row)


def _answer(row: NotificationSettings) -> Response:
    data = NotificationSettingsSerializer(row).data
    return Response(data, headers={"ETag": etag(row.version)})
