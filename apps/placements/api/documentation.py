"""Say what the published API needs to know about placements."""

from apps.common.api.examples import SYSTEM, TOPIC, Example
from apps.runs.api.documentation import RERUN

TAGS = {
    "placement-methods": "Methods that place publishers over brokers, with their parameters.",
    "placements": "Which broker serves which publisher of a topic, and what messages then wait.",
}

ENUM_NAMES = {
    "PlacementCommandEnum": "apps.placements.api.serializers.PLACEMENT_COMMANDS",
    "PartModeEnum": "apps.placements.api.serializers.PART_MODES",
    "MeasuredCauseEnum": "apps.placements.api.outcome.CAUSES",
    "MeasuredVerdictEnum": "apps.placements.api.outcome.VERDICTS",
    "PlacementStatusEnum": "apps.placements.api.outcome.OUTCOME_STATUSES",
}

MEANINGS = {
    "PlacementCommandEnum": {
        **RERUN,
        "again": "Place the topic again by what was measured of it.",
        "plan": "Make a draft of the plan that splits the topic's bucket as it says.",
        "what_if": "Compute at once what another contract or other brokers would bring.",
    },
    "PartModeEnum": {
        "enforce": "What exceeds the part waits.",
        "count": "What exceeds the part passes, and is counted.",
    },
    "MeasuredCauseEnum": {
        "processing": "The broker is slower than its publishers need.",
        "rate": "More is sent than the tokens of the broker's part that flow in.",
        "tokens": "Messages wait for tokens of the broker's part of the bucket.",
    },
    "MeasuredVerdictEnum": {
        "kept": "The 99th percentile is at most the target, proven at 95 %.",
        "missed": "The 99th percentile is above the target, proven at 95 %.",
        "inconclusive": "Neither is proven yet: the target lies within the interval.",
    },
    "PlacementStatusEnum": {
        "solved": "Every publisher has a broker.",
        "infeasible": "Some publishers have no room.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /placements": {"system": SYSTEM, "topic": TOPIC, "note": "Before the quarter's end"},
    "POST /placements/{id}/again": {"note": "After a day in force"},
    "POST /placements/{id}/plan": {"mode": "count"},
    "POST /placements/{id}/what-if": {"bucket": 96, "added_brokers": 1},
}
