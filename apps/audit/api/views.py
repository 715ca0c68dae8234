"""Publish the audit record for reading."""

from collections.abc import Mapping
from typing import ClassVar

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from rest_framework import mixins, serializers, viewsets

from apps.audit.models import FOR_ADMINISTRATORS, AuditEntry
from apps.common.api.filters import FilterSet, NameSearch, Ordering, since, until


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    """Describe one entry; `before` and `after` hold only what changed."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system_id", read_only=True, allow_null=True)
    actor = serializers.UUIDField(
        source="actor.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The person; null: Weir itself, or an account that is no more.",
    )
    before = serializers.DictField(read_only=True, allow_null=True)
    after = serializers.DictField(read_only=True, allow_null=True)

    class Meta:
        model = AuditEntry
        fields = [
            "id",
            "at",
            "actor",
            "actor_name",
            "action",
            "object_kind",
            "object_id",
            "object_name",
            "system",
            "model_version",
            "before",
            "after",
            "reason",
        ]


class AuditFilter(FilterSet):
    """Filter entries by system, object, kind, person and time."""

    system = filters.UUIDFilter(field_name="system_id")
    object = filters.UUIDFilter(field_name="object_id")
    person = filters.CharFilter(
        field_name="actor_name", lookup_expr="icontains", label="Part of the name of a person."
    )
    since = since("at")
    until = until("at")

    class Meta:
        model = AuditEntry
        fields = ["object_kind", "action", "actor_name"]


class AuditViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[AuditEntry]
):
    """List who did what, when and why, newest first."""

    words: ClassVar[Mapping[str, str]] = {
        "retrieve": "Return one entry: who did what, when and why."
    }
    queryset: QuerySet[AuditEntry] = AuditEntry.objects.select_related("actor")
    serializer_class = AuditEntrySerializer
    filterset_class = AuditFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    ordering_fields = ["at"]
    search_fields = ["object_name", "actor_name", "reason"]
    ordering = ["-id"]

    def get_queryset(self) -> QuerySet[AuditEntry]:
        """Return the entries; only administrators see who signed in from where."""
        entries = super().get_queryset()
        caller = self.request.auth or self.request.user
        if "administer" in getattr(caller, "permissions", ()):
            return entries
        return entries.exclude(object_kind__in=FOR_ADMINISTRATORS)
