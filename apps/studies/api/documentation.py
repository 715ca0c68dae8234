"""Say what the published API needs to know about studies."""

from apps.allocations.api.documentation import RESULT
from apps.common.api.examples import SYSTEM, Example
from apps.runs.api.documentation import CANCEL, RERUN

STUDY: Example = {
    "kind": "sweep",
    "methods": [{"method": "certified", "parameters": {}}],
    "axes": [
        {
            "label": "Capacity of london-1",
            "edit": {"kind": "node_capacity", "nodes": ["london-1"]},
            "field": "scale",
            "values": {"from": 0.5, "to": 1.5, "count": 5},
        }
    ],
}
TAGS = {
    "studies": "What-if studies: many scenarios solved on one snapshot.",
}

ENUM_NAMES = {
    "StudyCommandEnum": "apps.studies.api.serializers.STUDY_COMMANDS",
    "PointStatusEnum": "apps.studies.api.serializers.POINT_STATUSES",
    "StudyKindEnum": "apps.studies.models.StudyKind.choices",
}

MEANINGS = {
    "StudyCommandEnum": {**RERUN, "rename": "PATCH its name.", "delete": "DELETE it."},
    "PointStatusEnum": {
        **RESULT,
        "invalid": "The scenario's edits do not give a valid model.",
        "failed": "The method itself broke on it.",
    },
    "StudyKindEnum": {
        "sweep": "Many scenarios: every combination of the axes' values.",
        "schedule": "One scenario after the other, as over a day.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /studies/check": {"system": SYSTEM, "spec": STUDY},
    "POST /studies": {"system": SYSTEM, "spec": STUDY, "name": "How large must london-1 be?"},
    "PATCH /studies/{id}": {"name": "Size of london-1"},
    "POST /studies/{id}/cancel": CANCEL,
}
