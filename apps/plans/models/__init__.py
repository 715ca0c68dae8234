"""Store plans, what people decided about them, and the policies that judge them."""

from apps.plans.models.plan import (
    ROLLED_BACK,
    UNSETTLED_NAMES,
    Approval,
    Decision,
    Plan,
    PlanEvent,
    Verification,
)
from apps.plans.models.policy import Policy, PolicyRule, PolicyWindow

__all__ = [
    "ROLLED_BACK",
    "UNSETTLED_NAMES",
    "Approval",
    "Decision",
    "Plan",
    "PlanEvent",
    "Policy",
    "PolicyRule",
    "PolicyWindow",
    "Verification",
]
