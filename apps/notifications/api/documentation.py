"""Say what the published API needs to know about channels of chats."""

from apps.common.api.examples import SYSTEM, WHY, Example

TAGS = {"channels": "Channels of chats that are told of what is new."}

ENUM_NAMES = {
    "ChannelShapeEnum": "apps.notifications.api.serializers.CHANNEL_SHAPES",
    "ChannelTestOutcomeEnum": "apps.notifications.api.serializers.TEST_OUTCOMES",
}

MEANINGS = {
    "ChannelShapeEnum": {
        "slack": "Slack, or a chat whose incoming webhooks take the same.",
        "teams": "Microsoft Teams: the webhook of a workflow that posts a card.",
    },
    "ChannelTestOutcomeEnum": {
        "none": "No test was asked for since it was made or edited.",
        "waiting": "A test waits to be posted.",
        "delivered": "The chat answered that it took the test.",
        "accepted": "The chat accepted the test (202) and does the rest later, of which it says "
        "nothing: look into the channel.",
        "failed": "It was not taken, or nobody knows whether it was: `test_problem` says which.",
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
