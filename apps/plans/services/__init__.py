"""Every transition of a plan: under its row's lock, with its event, audit entry and news."""

from apps.plans.services.bring_model import plan_of_model
from apps.plans.services.create import plan_create, plan_shaped
from apps.plans.services.execute import plan_dry_run, plan_execute
from apps.plans.services.hold import windows_hold
from apps.plans.services.review import (
    plan_approve,
    plan_discard,
    plan_reject,
    plan_submit,
    plan_withdraw,
)
from apps.plans.services.settle import plans_settle
from apps.plans.services.undo import plan_undo

__all__ = [
    "plan_approve",
    "plan_create",
    "plan_discard",
    "plan_dry_run",
    "plan_execute",
    "plan_of_model",
    "plan_reject",
    "plan_shaped",
    "plan_submit",
    "plan_undo",
    "plan_withdraw",
    "plans_settle",
    "windows_hold",
]
