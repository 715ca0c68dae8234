"""Serve topics, publishers, classes, utilities, SLOs, streams, groups and subscribers over the REST
API."""

from django.db.models import Count
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.domain.roles import Permission
from apps.catalog.api.serializers import (
    ConsumerClassSerializer,
    CorrelationKeySerializer,
    GroupSerializer,
    PublisherSerializer,
    SloSerializer,
    StreamSerializer,
    SubscriberSerializer,
    TopicSerializer,
    UtilityFunctionSerializer,
)
from apps.catalog.models import (
    ConsumerClass,
    CorrelationKey,
    Group,
    Publisher,
    Slo,
    Stream,
    Subscriber,
    Topic,
    UtilityFunction,
)
from apps.catalog.selectors import utility_curve, utility_kind_descriptions
from apps.common.api.fields import Amount
from apps.common.api.filters import TrueOrFalse
from apps.common.api.forms import Form
from apps.systems.api.entities import EntityFilter, reference_filter
from apps.systems.api.imports import ImportedViewSet


class CorrelationKeyFilter(EntityFilter):
    """Filter correlation keys by system and name."""

    class Meta:
        model = CorrelationKey
        fields: list[str] = []


class CorrelationKeyViewSet(ImportedViewSet[CorrelationKey]):
    """Manage marks of publishers that tend to send at the same moment."""

    queryset = CorrelationKey.objects.select_related("system")
    serializer_class = CorrelationKeySerializer
    filterset_class = CorrelationKeyFilter
    search_fields = ["name", "external_id", "description"]


class GroupFilter(EntityFilter):
    """Filter groups by system and name."""

    class Meta:
        model = Group
        fields: list[str] = []


class GroupViewSet(ImportedViewSet[Group]):
    """Manage channels that carry several streams."""

    queryset = Group.objects.select_related("system")
    serializer_class = GroupSerializer
    filterset_class = GroupFilter
    ordering = ["number"]
    ordering_fields = ["number", "name", "updated_at", "created_at"]


class StreamFilter(EntityFilter):
    """Filter streams by their group, and by whether they are pinned to one."""

    group = reference_filter("group")
    pinned = TrueOrFalse(field_name="pinned_group", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Stream
        fields: list[str] = []


class StreamViewSet(ImportedViewSet[Stream]):
    """Manage transport sessions that carry several topics."""

    queryset = Stream.objects.select_related("system", "group", "pinned_group")
    serializer_class = StreamSerializer
    filterset_class = StreamFilter
    ordering = ["number"]
    ordering_fields = ["number", "name", "updated_at", "created_at"]


class TopicFilter(EntityFilter):
    """Filter topics by pattern, delivery, source and stream, and by whether they are pinned to a
    stream."""

    source = reference_filter("source")
    stream = reference_filter("stream")
    pinned = TrueOrFalse(field_name="pinned_stream", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Topic
        fields = ["pattern", "delivery"]


class TopicViewSet(ImportedViewSet[Topic]):
    """Manage topics; the optimizer sees the routed traffic of each as one flow."""

    queryset = (
        Topic.objects.select_related("system", "source", "stream", "pinned_stream")
        .prefetch_related("node_costs__broker", "link_costs__link")
        .annotate(class_count=Count("consumer_classes", distinct=True))
    )
    serializer_class = TopicSerializer
    import_prefetch = ("consumer_classes__utility",)
    filterset_class = TopicFilter
    search_fields = ["name", "external_id", "description"]
    ordering_fields = [
        "name",
        "pattern",
        "delivery",
        "rate_min_per_s",
        "rate_max_per_s",
        "updated_at",
        "created_at",
    ]


class PublisherFilter(EntityFilter):
    """Filter publishers by topic, broker and correlation key."""

    topic = reference_filter("topic")
    broker = reference_filter("broker")
    correlation_key = reference_filter("correlation_key")

    class Meta:
        model = Publisher
        fields: list[str] = []


class PublisherViewSet(ImportedViewSet[Publisher]):
    """Manage clients that send messages."""

    queryset = Publisher.objects.select_related("system", "topic", "broker", "correlation_key")
    serializer_class = PublisherSerializer
    filterset_class = PublisherFilter
    search_fields = ["name", "external_id", "topic__name"]
    ordering_fields = ["name", "rate_per_s", "topic__name", "updated_at", "created_at"]
    create_missing = ("correlation_key",)


class UtilityFunctionFilter(EntityFilter):
    """Filter utility functions by their kind."""

    class Meta:
        model = UtilityFunction
        fields = ["kind"]


class UtilityFunctionViewSet(ImportedViewSet[UtilityFunction]):
    """Manage utility functions, which value one admitted consumer at a rate."""

    queryset = UtilityFunction.objects.select_related("system").annotate(
        class_count=Count("consumer_classes", distinct=True)
    )
    serializer_class = UtilityFunctionSerializer
    filterset_class = UtilityFunctionFilter
    search_fields = ["name", "external_id", "kind"]
    ordering_fields = ["name", "kind", "updated_at", "created_at"]


class ConsumerClassFilter(EntityFilter):
    """Filter classes by topic, broker, utility and tier."""

    topic = reference_filter("topic")
    broker = reference_filter("broker")
    utility = reference_filter("utility")

    class Meta:
        model = ConsumerClass
        fields = ["tier"]


class ConsumerClassViewSet(ImportedViewSet[ConsumerClass]):
    """Manage consumers of one topic at one broker that share a utility function and a cost."""

    queryset = ConsumerClass.objects.select_related(
        "system", "topic", "broker", "utility"
    ).prefetch_related("costs")
    serializer_class = ConsumerClassSerializer
    filterset_class = ConsumerClassFilter
    search_fields = ["name", "external_id", "topic__name", "broker__name", "tier"]
    ordering_fields = [
        "name",
        "topic__name",
        "broker__name",
        "tier",
        "population_max",
        "updated_at",
        "created_at",
    ]


class SloFilter(EntityFilter):
    """Filter objectives by topic and quantity."""

    topic = reference_filter("topic")

    class Meta:
        model = Slo
        fields = ["quantity"]


class SloViewSet(ImportedViewSet[Slo]):
    """Manage targets on measured quantities."""

    queryset = Slo.objects.select_related("system", "topic")
    serializer_class = SloSerializer
    filterset_class = SloFilter
    search_fields = ["name", "external_id", "topic__name"]
    ordering_fields = ["name", "topic__name", "quantity", "target", "updated_at", "created_at"]


class SubscriberFilter(EntityFilter):
    """Filter subscribers by broker and by a topic of interest."""

    broker = reference_filter("broker")
    topic = reference_filter("interests__topic")

    class Meta:
        model = Subscriber
        fields: list[str] = []


class SubscriberViewSet(ImportedViewSet[Subscriber]):
    """Manage users of the messaging system and the topics they want."""

    queryset = Subscriber.objects.select_related("system", "broker").prefetch_related(
        "interests__topic"
    )
    serializer_class = SubscriberSerializer
    filterset_class = SubscriberFilter
    search_fields = ["name", "external_id", "description"]


class ParameterDescriptionSerializer(serializers.Serializer[dict[str, object]]):
    """Describe one parameter, enough to draw its field."""

    name = serializers.CharField()
    type = serializers.CharField()
    unit = serializers.CharField(allow_null=True, allow_blank=True)
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    exclusive = serializers.BooleanField(help_text="The bounds themselves are not allowed.")
    help = serializers.CharField(allow_blank=True)
    required = serializers.BooleanField()  # type: ignore[assignment]
    default = serializers.JSONField(allow_null=True)
    label = serializers.CharField(  # type: ignore[assignment]
        required=False, allow_blank=True, help_text="What people read; empty: the name in words."
    )
    choices = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The only values of a string; empty: any.",
    )
    only_with = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text="Values of other parameters with which alone this one counts; empty: always.",
    )


UtilityKindSerializer = inline_serializer(
    "UtilityKind",
    {
        "kind": serializers.CharField(),
        "summary": serializers.CharField(),
        "parameters": ParameterDescriptionSerializer(many=True),
    },
)


class CurveRequestSerializer(Form[dict[str, object]]):
    """Read a utility function that need not be stored, and the rates at which to draw it."""

    kind = serializers.CharField()
    parameters = serializers.DictField()
    rates = serializers.ListField(
        child=Amount(min_value=0, max_value=1e12), min_length=1, max_length=1000
    )


CurveSerializer = inline_serializer(
    "UtilityCurve",
    {
        "rates": serializers.ListField(child=serializers.FloatField()),
        "values": serializers.ListField(child=serializers.FloatField()),
        "derivatives": serializers.ListField(child=serializers.FloatField()),
    },
)


class UtilityCurveView(APIView):
    """Draw the curve of a utility function while it is being edited; this stores nothing."""

    needs = {"post": Permission.READ}

    @extend_schema(
        operation_id="utility_curve", request=CurveRequestSerializer, responses=CurveSerializer
    )
    def post(self, request: Request) -> Response:
        """Return value and marginal utility at each rate (msg/s)."""
        form = CurveRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(utility_curve(**form.validated_data))


class UtilityKindsView(APIView):
    """List the kinds of utility function that this installation knows."""

    @extend_schema(
        operation_id="utility_kinds_list",
        responses=inline_serializer(
            "UtilityKinds", {"results": serializers.ListSerializer(child=UtilityKindSerializer)}
        ),
    )
    def get(self, request: Request) -> Response:
        """Return every kind with the description of its parameters."""
        return Response({"results": utility_kind_descriptions()})
