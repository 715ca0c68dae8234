"""What a shift costs follows from what the shifts before it took."""

import json

import pytest

from apps.accounts.domain.roles import Role
from apps.evaluations.services import candidate_plan, evaluation_request
from apps.plans.models import Plan
from apps.plans.services import plan_approve, plan_execute, plan_roll_back, plan_submit
from tests.factories import make_user
from tests.factories.overlays import Row, goal_of, make_evaluation, make_row, one_step
from tests.factories.plans import agents_come
from weir.model.evaluation import Disruption

pytestmark = pytest.mark.django_db


def frozen_pause_s(evaluation) -> float:
    """What the kernel reckons with."""
    return json.loads(bytes(evaluation.run.snapshot.payload))["disruption"]["pause_s"]


def test_pause_is_assumed_until_shifts_were_measured(admin):
    row: Row = make_row()
    evaluation = make_evaluation(row, admin)
    assumed = Disruption().pause_s
    assert (evaluation.shift_pause_s, evaluation.shifts_measured) == (assumed, 0)
    assert frozen_pause_s(evaluation) == assumed
    operator = make_user("operator", Role.APPROVER, Role.OPERATOR)
    agents = agents_come(row)  # type: ignore[arg-type]

    def carry_out(plan: Plan, *pauses_s: float) -> Plan:
        plan = plan_submit(plan=plan, actor=admin)
        plan = plan_approve(plan=plan, actor=operator, content_hash=plan.content_hash)
        execution = plan_execute(plan=plan, actor=operator)
        for pause_s in pauses_s:
            one_step(agents, execution, pause_s=pause_s)
        plan.refresh_from_db()
        return plan

    there = carry_out(candidate_plan(candidate=goal_of(evaluation), actor=admin), 0.02, 0.9, 0.03)
    few = evaluation_request(system=row.fresh(), actor=admin)
    assert (few.shift_pause_s, few.shifts_measured) == (assumed, 0)

    carry_out(plan_roll_back(plan=there, actor=admin), 0.04, 0.05, 0.06)
    enough = evaluation_request(system=row.fresh(), actor=admin)
    assert (enough.shift_pause_s, enough.shifts_measured) == (pytest.approx(0.045), 6)
    assert frozen_pause_s(enough) == enough.shift_pause_s
