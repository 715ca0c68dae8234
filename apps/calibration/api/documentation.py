"""Say what the published API needs to know about fits and their settings."""

from apps.common.api.examples import SYSTEM, WHY, Example, example_id
from weir.lifecycle.fits import FITS

MACHINES = {"FitStateEnum": FITS}

TAGS = {
    "calibration-settings": "How far measurements may correct a system's model.",
    "calibration-state": "What is measured against what the model predicts, now.",
    "calibrations": "Resource models fitted from measurements, and their use.",
}

ENUM_NAMES = {
    "FitStateEnum": "apps.calibration.models.FIT_STATES",
    "FitCommandEnum": "apps.calibration.api.serializers.FIT_COMMANDS",
    "CoefficientKindEnum": "apps.calibration.api.serializers.COEFFICIENT_KINDS",
}

MEANINGS = {
    "FitStateEnum": {
        "proposed": "Computed, and not used.",
        "applied": "Its coefficients are in the model.",
        "undone": "The costs that it replaced are back.",
        "discarded": "Not to be used.",
    },
    "FitCommandEnum": {
        "apply": "Write coefficients into the model.",
        "discard": "Mark it as not to be used.",
        "undo": "Put the costs back that it replaced.",
    },
    "CoefficientKindEnum": {
        "idle": "What the broker needs without messages.",
        "flow": "What one message of a flow costs.",
        "class": "What one message costs for one consumer of a class.",
    },
    "MeasureEnum": {
        "cpu": "Processor time.",
        "storage": "Writing to storage.",
        "network": "Bytes on the network.",
    },
    "ClampedEnum": {
        "low": "Cut at the lower bound.",
        "high": "Cut at the upper bound.",
    },
    "EngineEnum": {
        "local": "In the process of the worker.",
        "spark": "On Spark, for many samples.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /calibrations": {"system": SYSTEM, "minutes": 30},
    "POST /calibrations/{id}/apply": {"coefficients": [example_id(22)], "reason": WHY},
    "POST /calibrations/{id}/undo": {"reason": "The load test was still running."},
    "POST /calibrations/{id}/discard": {"reason": "The load test was still running."},
    "PATCH /calibration-settings/{id}": {"correct_errors": True, "reason": WHY},
}
