"""Say what the published API needs to know about policies and the stop of everything automatic."""

from apps.common.api.examples import Example

TAGS = {
    "automatic-stops": "What keeps Weir from doing anything by itself, now and in the past.",
}

ENUM_NAMES = {
    "AutoExecuteEnum": "apps.policies.models.AutoExecution.choices",
    "AutomaticStopCommandEnum": "apps.policies.api.serializers.STOP_COMMANDS",
}

MEANINGS = {
    "AutoExecuteEnum": {
        "off": "People decide about every plan.",
        "dry": "People decide; what Weir would have carried out is recorded.",
        "on": "Weir approves and carries out what is within the bounds.",
    },
    "AutomaticStopCommandEnum": {
        "resume": "Let Weir do again by itself what policies, schedules and triggers say.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /automatic-stops": {"reason": "Load test until noon"},
    "POST /automatic-stops/{id}/resume": {"reason": "The load test is over"},
}
