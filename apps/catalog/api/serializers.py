"""Describe the objects of the catalog over the REST API."""

from typing import Any

from rest_framework import serializers

from apps.catalog.models import (
    ConsumerClass,
    ConsumerClassCost,
    CorrelationKey,
    Group,
    Interest,
    Publisher,
    Slo,
    Stream,
    Subscriber,
    Topic,
    TopicLinkCost,
    TopicNodeCost,
    UtilityFunction,
)
from apps.catalog.selectors.request_response import class_problem, differs, topic_problems
from apps.systems.api.entities import EntitySerializer, Reference, RowSerializer
from apps.topology.api.views import check_resources
from apps.topology.models import Broker, Link

BASE = EntitySerializer.BASE_FIELDS


def name_of(source: str) -> serializers.CharField:
    """Return a field with the name of an object that is referred to, for people."""
    return serializers.CharField(source=f"{source}.name", read_only=True, allow_null=True)


class CorrelationKeySerializer(EntitySerializer[CorrelationKey]):
    """Describe a correlation key of publishers."""

    class Meta:
        model = CorrelationKey
        fields = [*BASE, "description"]


class GroupSerializer(EntitySerializer[Group]):
    """Describe a group with its streams."""

    class Meta:
        model = Group
        fields = [*BASE, "number"]


class StreamSerializer(EntitySerializer[Stream]):
    """Describe a stream with its topics."""

    group = Reference(Group, allow_null=True, required=False)
    group_name = name_of("group")
    pinned_group = Reference(Group, allow_null=True, required=False)
    pinned_group_name = name_of("pinned_group")

    class Meta:
        model = Stream
        fields = [*BASE, "number", "group", "group_name", "pinned_group", "pinned_group_name"]


class TopicNodeCostSerializer(RowSerializer[TopicNodeCost]):
    """Describe the work per message of a topic at a broker."""

    broker = Reference(Broker)
    broker_name = name_of("broker")

    class Meta:
        model = TopicNodeCost
        fields = ["broker", "broker_name", "resource", "cost"]


class TopicLinkCostSerializer(RowSerializer[TopicLinkCost]):
    """Describe the work per message of a topic on a link."""

    link = Reference(Link)
    link_name = name_of("link")

    class Meta:
        model = TopicLinkCost
        fields = ["link", "link_name", "cost"]


class TopicSerializer(EntitySerializer[Topic]):
    """Describe a topic with its path: costs at brokers and on links."""

    source = Reference(  # type: ignore[assignment]
        Broker, allow_null=True, required=False
    )
    source_name = name_of("source")
    stream = Reference(Stream, allow_null=True, required=False)
    stream_name = name_of("stream")
    pinned_stream = Reference(Stream, allow_null=True, required=False)
    pinned_stream_name = name_of("pinned_stream")
    node_costs = TopicNodeCostSerializer(many=True, required=False)
    link_costs = TopicLinkCostSerializer(many=True, required=False)
    class_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = Topic
        fields = [
            *BASE,
            "description",
            "pattern",
            "delivery",
            "rate_min_per_s",
            "rate_max_per_s",
            "source",
            "source_name",
            "token_rate_per_s",
            "token_bucket",
            "recorded_bucket",
            "batch",
            "stream",
            "stream_name",
            "pinned_stream",
            "pinned_stream_name",
            "node_costs",
            "link_costs",
            "class_count",
        ]
        extra_kwargs = {"batch": {"min_value": 1}, "recorded_bucket": {"min_value": 1}}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)

        def now(name: str) -> Any:
            return attrs.get(name, getattr(self.instance, name, None))

        low, high = now("rate_min_per_s") or 0.0, now("rate_max_per_s")
        if high is not None and low > high:
            raise serializers.ValidationError(
                {"rate_min_per_s": f"Above rate_max_per_s ({high:g} msg/s); lower it."}
            )
        if (now("token_rate_per_s") is None) != (now("token_bucket") is None):
            missing = "token_bucket" if now("token_bucket") is None else "token_rate_per_s"
            raise serializers.ValidationError(
                {missing: "A token bucket needs both a rate and a burst; give both or neither."}
            )
        if now("recorded_bucket") is not None and now("token_bucket") is None:
            raise serializers.ValidationError(
                {
                    "recorded_bucket": "Only beside a token bucket; give the topic a token rate "
                    "and a burst, or clear this."
                }
            )
        problems = topic_problems(self.instance, attrs)
        if problems:
            raise serializers.ValidationError({row.field: row.message for row in problems})
        check_resources(attrs.get("node_costs", []), now("system"), "node_costs")
        return attrs


class PublisherSerializer(EntitySerializer[Publisher]):
    """Describe a publisher of a topic."""

    topic = Reference(Topic)
    topic_name = name_of("topic")
    broker = Reference(Broker, allow_null=True, required=False)
    broker_name = name_of("broker")
    correlation_key = Reference(CorrelationKey, allow_null=True, required=False)
    correlation_key_name = name_of("correlation_key")

    class Meta:
        model = Publisher
        fields = [
            *BASE,
            "topic",
            "topic_name",
            "broker",
            "broker_name",
            "correlation_key",
            "correlation_key_name",
            "rate_per_s",
            "pinned",
        ]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)

        def now(name: str) -> Any:
            return attrs.get(name, getattr(self.instance, name, None))

        if now("pinned") and now("broker") is None:
            raise serializers.ValidationError(
                {"pinned": "A pinned publisher needs a broker; choose one or take the pin away."}
            )
        return attrs


class UtilityFunctionSerializer(EntitySerializer[UtilityFunction]):
    """Describe a utility function: a kind and the parameters that `/utility-kinds` describes."""

    parameters = serializers.DictField()
    class_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = UtilityFunction
        fields = [*BASE, "kind", "parameters", "class_count"]


class ConsumerClassCostSerializer(RowSerializer[ConsumerClassCost]):
    """Describe the work per message and consumer of a class."""

    class Meta:
        model = ConsumerClassCost
        fields = ["resource", "cost"]


class ConsumerClassSerializer(EntitySerializer[ConsumerClass]):
    """Describe a consumer class and its costs."""

    topic = Reference(Topic)
    topic_name = name_of("topic")
    broker = Reference(Broker)
    broker_name = name_of("broker")
    utility = Reference(UtilityFunction)
    utility_name = name_of("utility")
    costs = ConsumerClassCostSerializer(many=True, required=False)

    class Meta:
        model = ConsumerClass
        fields = [
            *BASE,
            "topic",
            "topic_name",
            "broker",
            "broker_name",
            "utility",
            "utility_name",
            "tier",
            "population_max",
            "costs",
        ]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        system = attrs.get("system") or getattr(self.instance, "system", None)
        if differs(self.instance, attrs, "topic", "utility"):
            topic = attrs.get("topic") or getattr(self.instance, "topic", None)
            utility = attrs.get("utility") or getattr(self.instance, "utility", None)
            message = class_problem(topic, utility) if topic and utility else None
            if message:
                raise serializers.ValidationError({"utility": message})
        check_resources(attrs.get("costs", []), system, "costs")
        return attrs


class SloSerializer(EntitySerializer[Slo]):
    """Describe a service-level objective of a topic."""

    topic = Reference(Topic)
    topic_name = name_of("topic")

    class Meta:
        model = Slo
        fields = [*BASE, "topic", "topic_name", "quantity", "target", "objective", "window_s"]
        extra_kwargs = {"window_s": {"min_value": 1}}

    def validate_objective(self, value: float) -> float:
        if not 0 < value < 1:
            raise serializers.ValidationError("A share between 0 and 1, such as 0.99.")
        return value


class InterestSerializer(RowSerializer[Interest]):
    """Describe one topic that a subscriber wants."""

    topic = Reference(Topic)
    topic_name = name_of("topic")

    class Meta:
        model = Interest
        fields = ["topic", "topic_name"]


class SubscriberSerializer(EntitySerializer[Subscriber]):
    """Describe a subscriber with its interests."""

    broker = Reference(Broker, allow_null=True, required=False)
    broker_name = name_of("broker")
    interests = InterestSerializer(many=True, required=False)

    class Meta:
        model = Subscriber
        fields = [*BASE, "description", "broker", "broker_name", "interests"]
