"""Run every transition of a plan: under its row's lock, with its event, audit entry and news."""

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
from apps.plans.services.roll_back import plan_accept_overload, plan_roll_back
from apps.plans.services.settle import plans_settle
from apps.plans.services.ticket import plan_set_ticket
from apps.plans.services.verify import plans_verify

__all__ = [
    "plan_accept_overload",
    "plan_approve",
    "plan_create",
    "plan_discard",
    "plan_dry_run",
    "plan_execute",
    "plan_of_model",
    "plan_reject",
    "plan_roll_back",
    "plan_set_ticket",
    "plan_shaped",
    "plan_submit",
    "plan_withdraw",
    "plans_settle",
    "plans_verify",
    "windows_hold",
]
