"""Say what the published API needs to know about records."""

from apps.common.api.examples import SYSTEM, WHY, Example, example_id

RECORD_BATCH = example_id(23)

TAGS = {
    "record-batches": "Records of what was sent, received and measured, as they arrive.",
    "record-counts": "What arrived of a system, and what was set aside.",
    "record-settings": "Until when records are taken, and for how long they are kept.",
    "set-aside-records": "Rows of records that did not fit, until somebody decides.",
}

ENUM_NAMES = {
    "RecordTableEnum": "apps.records.models.RecordTable.choices",
    "SetAsideStandingEnum": "apps.records.api.serializers.SET_ASIDE_STATES",
    "SetAsideCommandEnum": "apps.records.api.serializers.SET_ASIDE_COMMANDS",
}

MEANINGS = {
    "RecordTableEnum": {
        "messages": "What was published.",
        "deliveries": "What was received.",
        "requests": "What was asked and answered.",
        "samples": "What was measured at a moment.",
        "delays": "How long messages took, as buckets of histograms.",
    },
    "SetAsideStandingEnum": {
        "waiting": "Nobody has decided yet.",
        "taken": "It counts: `taken_in` is the batch that has it.",
        "discarded": "It was given up.",
    },
    "SetAsideCommandEnum": {
        "replay": "Check rows again, and take those that fit now, however old they are.",
        "discard": "Give rows up.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /record-batches": {
        "at_s": 1795953600.25,
        "topic": "quotes.eurusd",
        "publisher": "feed-1",
        "broker": "ny-1",
        "bytes": 220,
    },
    "POST /record-batches/prometheus": {},
    "POST /record-batches/otlp/v1/metrics": {
        "resourceMetrics": [
            {
                "resource": {
                    "attributes": [{"key": "host.name", "value": {"stringValue": "ny-1"}}]
                },
                "scopeMetrics": [
                    {
                        "metrics": [
                            {
                                "name": "cpu_ratio",
                                "gauge": {
                                    "dataPoints": [
                                        {"timeUnixNano": "1795953600250000000", "asDouble": 0.4}
                                    ]
                                },
                            }
                        ]
                    }
                ],
            }
        ]
    },
    "POST /set-aside-records/replay": {
        "system": SYSTEM,
        "batch": RECORD_BATCH,
        "rows": [17],
        "amended": [
            {"row": 17, "content": '{"at_s": 1795953600, "topic": "fx", "publisher": "feed-1"}'}
        ],
        "reason": "The clock of the collector was wrong.",
    },
    "POST /set-aside-records/discard": {"system": SYSTEM, "table": "samples", "reason": WHY},
    "PATCH /record-settings/{id}": {"keep_records_days": 90, "reason": WHY},
}

TABLES = {
    "POST /record-batches": "at_s,topic,publisher,broker,messages,bytes\r\n"
    "1795953600.25,quotes.eurusd,feed-1,ny-1,1,220\r\n"
}
