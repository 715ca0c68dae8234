"""Say what the published API needs to know about channels of chats."""

from apps.common.api.examples import SYSTEM, WHY, Example

TAGS = {"channels": "Channels of chats that are told of what is new."}

ENUM_NAMES = {
    "ChannelShapeEnum": "apps.notifications.api.serializers.CHANNEL_SHAPES",
}

MEANINGS = {
    "ChannelShapeEnum": {
        "slack": "Slack, or a chat whose incoming webhooks take the same.",
        "teams": "Microsoft Teams: the webhook of a workflow that posts a card.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /channels": {
        "name": "Operations",
        "shape": "slack",
        "credential": "env:WEIR_CREDENTIAL_OPS_CHAT",
        "all_systems": False,
        "systems": [SYSTEM],
        "kinds": ["plan_to_review", "execution_failed", "agent_silent"],
        "timezone": "Europe/Berlin",
        "quiet_from": "20:00:00",
        "quiet_until": "07:00:00",
        "reason": WHY,
    },
    "PATCH /channels/{id}": {"digest_at": "08:00:00", "reason": WHY},
    "PATCH /session/notifications": {
        "timezone": "Europe/Berlin",
        "digest_at": "08:00:00",
        "quiet_from": "20:00:00",
        "quiet_until": "07:00:00",
    },
}
