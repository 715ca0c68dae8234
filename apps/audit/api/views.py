"""Read the record."""

from datetime import UTC, datetime

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from rest_framework import mixins, serializers, viewsets

from apps.audit.models import AuditEntry
from apps.common.api.filters import FilterSet, NameSearch, Ordering


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    """One entry; `before` and `after` hold only what changed."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system_id", read_only=True, allow_null=True)
    before = serializers.DictField(read_only=True, allow_null=True)
    after = serializers.DictField(read_only=True, allow_null=True)

    class Meta:
        model = AuditEntry
        fields = [
            "id",
            "at",
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
    """By system, object, kind, person and time."""

    system = filters.UUIDFilter(field_name="system_id")
    object = filters.UUIDFilter(field_name="object_id")
    since = filters.IsoDateTimeFilter(method="filter_since", label="At this time or later.")

    class Meta:
        model = AuditEntry
        fields = ["object_kind", "action", "actor_name"]

    def filter_since(
        self, entries: QuerySet[AuditEntry], name: str, value: datetime
    ) -> QuerySet[AuditEntry]:
        """Entries from then on. Python takes offsets that Postgres does not, so it gets UTC."""
        try:
            return entries.filter(at__gte=value.astimezone(UTC))
        except OverflowError as error:
            raise serializers.ValidationError({name: "Lies outside the calendar."}) from error


class AuditViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[AuditEntry]
):
    """Who did what, when and why; newest first."""

    queryset: QuerySet[AuditEntry] = AuditEntry.objects.all()
    serializer_class = AuditEntrySerializer
    filterset_class = AuditFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    ordering_fields = ["at"]
    search_fields = ["object_name", "actor_name", "reason"]
    ordering = ["-id"]

    def get_queryset(self) -> QuerySet[AuditEntry]:
        """Who signed in from where is for administrators."""
        entries = super().get_queryset()
        caller = self.request.auth or self.request.user
        if "administer" in getattr(caller, "permissions", ()):
            return entries
        return entries.exclude(object_kind="session")
