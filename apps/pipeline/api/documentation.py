"""Say what the published API needs to know about sums of records, and how objectives held."""

TAGS = {
    "record-metrics": "What there is to choose among sums of records.",
    "record-quality": "How complete measurements are: silent brokers, late rows, rows set aside.",
    "record-sums": "What was published, received, requested and measured, as series over time.",
    "request-loops": "Requesters of request-response topics: how many there are, how long they "
    "pause, and how long an answer takes, as measured.",
    "slo-compliance": "How objectives held, what is left of their error budgets, and how fast "
    "these burn.",
}

ENUM_NAMES = {
    "RecordQuantityEnum": "apps.pipeline.api.serializers.RECORD_QUANTITIES",
    "RecordGroupEnum": "apps.pipeline.api.serializers.RECORD_GROUPS",
    "SloStandingEnum": "apps.pipeline.api.objectives.SLO_STANDINGS",
    "BurnSeverityEnum": "apps.pipeline.api.objectives.SEVERITIES",
    "SloEvidenceEnum": "apps.pipeline.api.objectives.EVIDENCES",
}

MEANINGS = {
    "RecordQuantityEnum": {
        "published_per_s": "Messages that came in, per second.",
        "received_per_s": "Messages that were received, once for each subscriber, per second.",
        "requested_per_s": "Requests, per second.",
        "unanswered_ratio": "The share of requests that had no answer, 0 to 1.",
        "delay_p50_s": "At most half of the messages took longer, seconds.",
        "delay_p95_s": "At most 5 % of the messages took longer, seconds.",
        "delay_p99_s": "At most 1 % of the messages took longer, seconds.",
        "delay_longest_s": "The longest delay, seconds.",
        "measured": "The mean of the samples of a metric, in its unit.",
        "measured_sum": "What all places measured of a metric, added up, in its unit.",
    },
    "RecordGroupEnum": {
        "topic": "A series for each topic.",
        "consumer_class": "A series for each class of consumers.",
        "broker": "A series for each broker.",
        "system": "One series of all together.",
    },
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
