"""A plan that takes an executed one back: its inverse, reviewed and carried out like any other."""

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.selectors import in_force
from apps.plans.models import Plan
from apps.plans.services.create import LENGTHS, plan_create
from weir.actions import inverse_steps, replay
from weir.errors import InvalidProblem
from weir.lifecycle.plans import PlanState
from weir.model.plan import Plan as Document
from weir.model.plan import Promise, Source


def plan_undo(*, plan: Plan, actor: User | None) -> Plan:
    """A draft of the executed plan's inverse, on the model as it is now.

    Raises Conflict: `not_executed`, or `not_in_force` where something else has changed meanwhile
    what the plan had put in force.
    """
    if plan.state != PlanState.EXECUTED:
        raise Conflict(
            "not_executed",
            f"{plan} is {plan.state.replace('_', ' ')}: only what was carried out can be undone. "
            "A broken-off execution is rolled back instead.",
        )
    steps = inverse_steps(plan.content.steps)
    plan.system.refresh_from_db()
    try:
        replay(in_force(plan.system), steps)
    except InvalidProblem as error:
        raise Conflict(
            "not_in_force", f"What {plan} put in force was changed since: {error}."
        ) from error
    document = Document(
        kind=plan.kind,
        system=str(plan.system.public_id),
        model_version=plan.system.model_version,
        snapshot_hash="",
        source=Source(kind="plan", id=str(plan.public_id), name=str(plan)),
        title=f"Undo {plan} {plan.title}"[: LENGTHS["title"]],
        why=(f"Takes back what {plan} put in force: {plan.title}.",),
        steps=steps,
        promise=tuple(
            Promise(name=row.name, unit=row.unit, before=row.after, after=row.before)
            for row in plan.content.promise
        ),
    )
    return plan_create(system=plan.system, actor=actor, document=document)
