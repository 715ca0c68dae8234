"""Say what the published API needs to know about overlay evaluations."""

from apps.common.api.examples import BROKER, SYSTEM, Example
from apps.runs.api.documentation import CANCEL

TAGS = {
    "overlay-candidates": "Overlays that an evaluation compared, and plans made of them.",
    "overlay-evaluations": "Comparisons of overlays, and of the way to each.",
    "overlay-transformations": "A plan from one overlay to another, computed at once.",
    "repairs": "Brokers that are silent, and plans that close the overlay around them.",
    "topology-methods": "Methods that design overlays, with their parameters.",
    "topology-planners": "Methods that plan the way to an overlay, with their parameters.",
}

ENUM_NAMES = {
    "CandidateCommandEnum": "apps.evaluations.api.serializers.CANDIDATE_COMMANDS",
    "RepairCommandEnum": "apps.evaluations.api.repairs.REPAIR_COMMANDS",
    "CandidateStatusEnum": "apps.evaluations.api.serializers.CANDIDATE_STATUSES",
    "PlannerStatusEnum": "apps.evaluations.api.serializers.PLAN_STATUSES",
    "CandidateKindEnum": "apps.evaluations.models.CandidateKind.choices",
    "TrafficSourceEnum": "apps.evaluations.models.TrafficSource.choices",
    "ObjectiveEnum": "apps.evaluations.models.Objective.choices",
}

MEANINGS = {
    "CandidateCommandEnum": {
        "plan": "Make a plan that leads to it.",
        "plan_again": "Make a plan from where an interrupted execution left the overlay.",
    },
    "RepairCommandEnum": {"plan": "Make a plan that closes the overlay around the broker."},
    "CandidateStatusEnum": {
        "designed": "It has a tree.",
        "time_limit": "It has the best tree that was found in the time given.",
        "infeasible": "There is no tree that keeps the bounds.",
        "failed": "The method broke; `reason` says how.",
    },
    "PlannerStatusEnum": {
        "optimal": "No plan is shorter.",
        "solved": "A plan was found; a shorter one is not ruled out.",
        "time_limit": "The best plan that was found in the time given.",
        "infeasible": "No plan leads there.",
        "no_plan": "No plan was found in the time given.",
        "failed": "The planner broke; `reason` says how.",
    },
    "CandidateKindEnum": {
        "today": "The overlay in force: do nothing.",
        "goal": "A stored goal topology.",
        "method": "Found by a method.",
    },
    "ObjectiveEnum": {"actions": "Few actions.", "steps": "Few steps."},
    "TrafficSourceEnum": {"measured": "Measured by agents.", "model": "Taken from the model."},
}

REQUESTS: dict[str, Example] = {
    "POST /overlay-evaluations": {"system": SYSTEM, "horizon_s": 3600, "time_limit_s": 20},
    "POST /overlay-candidates/{id}/plan": {"title": "Shorter ways to Frankfurt"},
    "POST /overlay-candidates/{id}/plan-again": {"objective": "steps"},
    "POST /repairs": {"broker": BROKER, "title": "Around london-1"},
    "POST /overlay-transformations": {
        "brokers": ["1", "2", "3", "4"],
        "initial": [["1", "2"], ["1", "3"], ["2", "4"]],
        "goal": [["1", "2"], ["1", "3"], ["3", "4"]],
    },
    "POST /overlay-evaluations/{id}/cancel": CANCEL,
}
