"""Say what the published API needs to know about adaptations."""

from apps.common.api.examples import Example
from weir.lifecycle.adaptations import DECISIONS

ENUM_NAMES = {
    "AdaptationStandingEnum": "apps.adaptation.api.serializers.ADAPTATION_STATES",
    "AdaptationCommandEnum": "apps.adaptation.api.serializers.ADAPTATION_COMMANDS",
    "AdaptationDecisionStateEnum": "apps.adaptation.models.DECISION_STATES",
    "AdaptationCauseEnum": "apps.adaptation.models.DecisionCause.choices",
}

MACHINES = {"AdaptationDecisionStateEnum": DECISIONS}

MEANINGS = {
    "AdaptationStandingEnum": {
        "off": "No order to adapt the parts is in force.",
        "running": "Parts follow the traffic.",
        "held": "An order is in force, and no part moves now; `because` says why.",
        "stopped": "A person has stopped it; parts are those in force, or return to them.",
    },
    "AdaptationCommandEnum": {
        "stop": "Return to the parts in force, and move none.",
        "resume": "Let parts move again.",
    },
    "AdaptationDecisionStateEnum": {
        "shrinking": "Smaller parts are asked for, and not all are confirmed.",
        "growing": "Larger parts are asked for, and not all are confirmed.",
        "done": "Every broker concerned shows its new part.",
        "given_up": "It did not get there; `because` says why.",
    },
    "AdaptationCauseEnum": {
        "shift": "Rates no longer fit the traffic: it has moved, or a backlog is gone.",
        "backlog": "Messages wait at a broker for tokens that others do not use.",
        "bursts": "Bursts have moved: sizes follow, rates stay.",
        "restore": "Parts return to those in force.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /topics/{id}/adaptation/stop": {"note": "Load test until noon"},
    "POST /topics/{id}/adaptation/resume": {"note": "The load test is over"},
}
