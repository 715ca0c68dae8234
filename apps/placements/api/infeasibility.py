"""Describe why a run found no placement."""

from typing import Any

from rest_framework import serializers

from apps.placements.selectors.infeasibility import MOST_LISTED


class WithoutRoomSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a publisher that no broker has room for."""

    name = serializers.CharField()
    rate_per_s = serializers.FloatField()
    group = serializers.CharField(allow_null=True, help_text="Its correlation key; null: none.")
    pinned_to = serializers.CharField(allow_null=True, help_text="The broker that must serve it.")


class RoomSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what a broker takes, and what is left of it."""

    broker = serializers.CharField()
    drained = serializers.BooleanField()
    max_rate_per_s = serializers.FloatField(help_text="What it takes of all publishers.")
    allocated_rate_per_s = serializers.FloatField(help_text="What other topics take of that.")
    rate_per_s = serializers.FloatField(help_text="What this topic could place there.")
    room_per_s = serializers.FloatField(help_text="What is left; 0 of a drained broker.")


class PlacementInfeasibilitySerializer(serializers.Serializer[dict[str, Any]]):
    """Describe which publishers have no room, what each broker takes, and what would help."""

    topic = serializers.CharField()
    sentence = serializers.CharField()
    next_moves = serializers.ListField(child=serializers.CharField())
    publishers = serializers.IntegerField(help_text="Publishers without room.")
    rate_per_s = serializers.FloatField(help_text="What these send together.")
    need_brokers = serializers.IntegerField(
        allow_null=True,
        help_text="Further brokers, each like the largest, that would hold them; null: no number "
        "would do.",
    )
    without_room = WithoutRoomSerializer(
        many=True, help_text=f"The largest {MOST_LISTED} of them, the largest first."
    )
    rooms = RoomSerializer(many=True, help_text="Every broker, the one with most room left first.")
