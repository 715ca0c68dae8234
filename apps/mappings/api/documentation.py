"""Say what the published API needs to know about maps of flows."""

from apps.common.api.examples import SYSTEM, WHY, Example

TAGS = {
    "filtering": "What receivers of a system filter over the day.",
    "hand-overs": "Which flows change their stream live now, and which did lately.",
    "map-in-force": "What the map that is in force now costs.",
    "mappable": "What of a system would be mapped now.",
    "mapping-methods": "Methods that map flows to streams and groups, with their parameters.",
    "mapping-settings": "What receiving and moving costs in a system.",
    "mappings": "Which stream carries which flow, in which group, and what receivers filter then.",
}

ENUM_NAMES = {
    "ComparedMapEnum": "apps.mappings.api.serializers.COMPARED_MAPS",
    "MappingCommandEnum": "apps.mappings.api.serializers.MAPPING_COMMANDS",
    "MappingPinKindEnum": "apps.mappings.api.serializers.PIN_KINDS",
    "FilteringLayerEnum": "apps.mappings.api.serializers.LAYERS",
    "HandOverPhaseEnum": "apps.mappings.api.reported.HAND_OVER_PHASES",
}

MEANINGS = {
    "ComparedMapEnum": {
        "random": "Every flow in any stream with the same chance: what it costs on average.",
        "flat": "As many streams as groups, one in each: nothing is dropped by streams.",
        "in_force": "The map that was in force, on today's interests and rates.",
        "proposed": "The map that the method gave.",
        "anew": "The cheapest map that was found, whatever it moves.",
    },
    "MappingCommandEnum": {
        "cancel": "Cancel its run.",
        "plan": "Make a plan of it.",
        "rerun": "Compute the same question again.",
    },
    "MappingPinKindEnum": {
        "flow": "A topic that stays in its stream.",
        "stream": "A stream that stays in its group.",
    },
    "HandOverPhaseEnum": {
        "preparing": "Messages are on the former stream; subscribers join the new one.",
        "draining": "Messages are on the new stream; subscribers may still read the former one.",
        "done": "Every subscriber has all of the former stream, or is not waited for any longer.",
    },
    "FilteringLayerEnum": {
        "transport": "The receiver drops its whole stream, packet by packet.",
        "messaging": "The receiver takes its stream, and drops the message.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /mappings": {"system": SYSTEM, "note": "Interests of the new season"},
    "POST /mappings/{id}/plan": {"map": "3", "moves_per_step": 20},
    "PATCH /mapping-settings/{id}": {"aggregation": 12, "horizon_s": 1800, "reason": WHY},
}
