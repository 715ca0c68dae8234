"""Say what the published API needs to know about suggestions of correlation keys."""

from apps.common.api.examples import SYSTEM, TOPIC, Example
from weir.lifecycle.suggestions import SUGGESTIONS

MACHINES = {"SuggestionStateEnum": SUGGESTIONS}

TAGS = {
    "correlation-analyses": "Which publishers of a topic burst together, by the times of messages.",
    "correlation-suggestions": "What people decide of publishers that may get one correlation key.",
    "recordings": "Recordings of messages that can be searched.",
}

ENUM_NAMES = {
    "SuggestionCommandEnum": "apps.correlation.api.serializers.SUGGESTION_COMMANDS",
    "CorrelationSourceEnum": "apps.correlation.models.Source.choices",
    "SuggestionKindEnum": "apps.correlation.models.Kind.choices",
    "SuggestionStateEnum": "apps.correlation.models.SUGGESTION_STATES",
}

MEANINGS = {
    "SuggestionCommandEnum": {
        "accept": "Give the members one correlation key.",
        "reject": "Keep them as they are, and remember that.",
        "undo": "Take the decision back; the suggestion is open again.",
    },
    "CorrelationSourceEnum": {
        "measured": "What agents reported of the topic's publishers in the last minutes.",
        "recording": "A recording in the folder of recordings.",
    },
    "SuggestionKindEnum": {
        "event": "They send at the same moments.",
        "period": "They keep one period at one phase.",
    },
    "SuggestionStateEnum": {
        "open": "Nobody has decided it.",
        "accepted": "Its members got a correlation key.",
        "rejected": "Somebody decided that it is none.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /correlation-analyses": {"system": SYSTEM, "topic": TOPIC, "minutes": 30},
    "POST /correlation-suggestions/{id}/accept": {"name": "quay-3"},
    "POST /correlation-suggestions/{id}/reject": {"note": "Clocks that were set alike by hand"},
    "POST /correlation-suggestions/{id}/undo": {"note": "They were moved to two sites"},
}
