"""Serve what waits for the caller."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of, granted
from apps.inbox.api.serializers import ItemSerializer
from apps.inbox.selectors import inbox_of

MOST = 500
"""Items of an answer."""


class InboxView(APIView):
    """Show what waits for the caller."""

    @extend_schema(
        operation_id="inbox_retrieve",
        responses=inline_serializer(
            "Inbox",
            {
                "count": serializers.IntegerField(help_text="Items in all."),
                "waiting": serializers.IntegerField(
                    help_text="Items that go on only once somebody decides, or that somebody must "
                    "look at now."
                ),
                "results": ItemSerializer(many=True),
            },
        ),
    )
    def get(self, request: Request) -> Response:
        """Return what waits for the caller by their roles, then what they should know.

        What waits comes first, the longest first; then what is to be known, the newest first; 500
        of them at most. An item begins a few seconds after its cause and ends as soon after it.
        """
        items = inbox_of(actor_of(request), granted(request), timezone.now())
        return Response(
            {
                "count": len(items),
                "waiting": sum(item.waits for item in items),
                "results": ItemSerializer(items[:MOST], many=True).data,
            }
        )
