"""Serve what the caller and channels of chats are told, and when."""

from collections.abc import Mapping
from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.api.views import IF_MATCH as IF_MATCH_OF_SESSION
from apps.accounts.api.views import person_in_session
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import ChangedFilter
from apps.common.api.forms import changes
from apps.common.api.preconditions import etag, expected_version, repeatable
from apps.common.api.versioned import VersionedViewSet
from apps.notifications import services
from apps.notifications.api.serializers import ChannelSerializer, NotificationSettingsSerializer
from apps.notifications.models import Channel, NotificationSettings
from apps.notifications.selectors import channel_rows
from apps.systems.api.entities import IF_MATCH, REASON, reason_of


class NotificationsView(APIView):
    """Show and change what the caller is told by e-mail, and when."""

    needs = {"patch": Permission.OWN_ACCOUNT}

    @extend_schema(
        operation_id="session_notifications_retrieve", responses=NotificationSettingsSerializer
    )
    def get(self, request: Request) -> Response:
        """Return what the caller is told by e-mail, and when."""
        return _answer(services.settings_of(actor_of(request)))

    @extend_schema(
        operation_id="session_notifications_update",
        parameters=[IF_MATCH_OF_SESSION],
        request=NotificationSettingsSerializer,
        responses=NotificationSettingsSerializer,
    )
    def patch(self, request: Request) -> Response:
        """Change the given members of what the caller is told. Needs a session."""
        person = person_in_session(request, "change what you are told")
        form = NotificationSettingsSerializer(data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        row = services.notification_settings_update(
            person=person,
            expected_version=expected_version(request),
            values=form.validated_data,
        )
        return _answer(row)


def _answer(row: NotificationSettings) -> Response:
    data = NotificationSettingsSerializer(row).data
    return Response(data, headers={"ETag": etag(row.version)})


class ChannelFilter(ChangedFilter):
    """Filter channels by when they were made."""

    class Meta:
        model = Channel
        fields: list[str] = []


class ChannelViewSet(VersionedViewSet[Channel]):
    """Manage the channels of chats that are told of what is new."""

    words: ClassVar[Mapping[str, str]] = {
        "list": "List the channels by page.",
        "retrieve": "Return one channel with its ETag.",
    }
    queryset = channel_rows()
    serializer_class = ChannelSerializer
    filterset_class = ChannelFilter
    needs = dict.fromkeys(["create", "partial_update", "destroy", "test"], Permission.ADMINISTER)
    refuses = {"test": (409,)}

    def get_queryset(self) -> QuerySet[Channel]:
        return channel_rows()

    @extend_schema(responses={201: ChannelSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Add a channel, which is told of all that stands and that it wants to hear of."""
        values, reason = changes(self.get_serializer(data=request.data))
        row = services.channel_create(actor=actor_of(request), values=values, reason=reason)
        return self._answer(row, status.HTTP_201_CREATED)

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the given members of a channel.

        With another credential or shape, and once it is enabled again, it is told of what still
        stands and was not taken within the last day.
        """
        version = expected_version(request)
        row = self.get_object()
        values, reason = changes(self.get_serializer(row, data=request.data, partial=True))
        return self._answer(
            services.channel_update(
                channel=row,
                actor=actor_of(request),
                expected_version=version,
                values=values,
                reason=reason,
            )
        )

    @extend_schema(parameters=[IF_MATCH, REASON])
    def destroy(self, request: Request, id: str) -> Response:
        """Delete a channel with what waits for it."""
        services.channel_delete(
            channel=self.get_object(),
            actor=actor_of(request),
            expected_version=expected_version(request),
            reason=reason_of(request),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={202: ChannelSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def test(self, request: Request, id: str) -> Response:
        """Post a message that only shows that the channel works, at once and at any hour.

        It is tried once. `test_outcome` of the channel says what came of it; while one waits, it is
        that one.
        """
        row = services.channel_test(channel=self.get_object(), actor=actor_of(request))
        return self._answer(row, status.HTTP_202_ACCEPTED)
