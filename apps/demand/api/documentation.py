"""Say what the published API needs to know about demand."""

from apps.common.api.examples import WHY, Example

TAGS = {
    "demand": "What publishers and consumers want now, measured and in the model.",
    "demand-estimates": "What snapshots took for the demand of a system, and since when.",
    "demand-settings": "How measured demand of a system is used.",
}

ENUM_NAMES = {
    "DemandBasisEnum": "apps.demand.models.BASES",
    "DemandSubjectEnum": "apps.demand.models.SUBJECTS",
}

MEANINGS = {
    "DemandBasisEnum": {
        "typed": "The model's figures.",
        "measured": "Measured figures; the model's where nothing was measured yet.",
        "forecast": "Forecast figures; measured ones where none can be made.",
        "largest": "The largest of the model's, the measured and the forecast figure.",
    },
    "DemandSubjectEnum": {
        "topic": "What its publishers offer before its gates, msg/s.",
        "class": "Its consumers: those that are admitted and those that wait.",
    },
}

REQUESTS: dict[str, Example] = {
    "PATCH /demand-settings/{id}": {"basis": "measured", "reason": WHY},
}
