"""Say what the published API needs to know about how objectives held."""

TAGS = {
    "slo-compliance": "How objectives held, what is left of their error budgets, and how fast "
    "these burn.",
}

ENUM_NAMES = {
    "SloStandingEnum": "apps.pipeline.api.objectives.SLO_STANDINGS",
    "BurnSeverityEnum": "apps.pipeline.api.objectives.SEVERITIES",
    "SloEvidenceEnum": "apps.pipeline.api.objectives.EVIDENCES",
}

MEANINGS = {
    "SloStandingEnum": {
        "page": "The budget burns so fast that somebody must look now.",
        "spent": "More minutes were missed than the objective allows.",
        "ticket": "The budget burns faster than it lasts; somebody must look within days.",
        "holds": "Nothing burns, and there is some budget left.",
        "not_measured": "Nobody measured the quantity in the window.",
    },
    "BurnSeverityEnum": {
        "page": "Somebody must look now.",
        "ticket": "Somebody must look within days.",
    },
    "SloEvidenceEnum": {
        "delivery": "Delays of deliveries, from when a message was sent until it was received.",
        "answer": "Delays from requests to their answers.",
        "gate": "How long messages waited at the gate alone: brokers and links add to it.",
        "rates": "Rates that agents measured at the gates.",
    },
}
