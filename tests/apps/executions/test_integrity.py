"""The database itself refuses what must never be, whoever writes past the services."""

import uuid

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.executions.models import (
    ActionReport,
    Execution,
    ExecutionAction,
    ExecutionStep,
    Setting,
)
from tests.factories.fleet import make_harbour, population, rate, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def execution() -> Execution:
    return start(make_harbour().system, [rate(None, 90.0), population(None, 4)], [rate(90.0, 9.0)])


def refused(constraint, write):
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        write()
    assert caught.value.__cause__.diag.constraint_name == constraint


@pytest.mark.parametrize(
    ("model", "constraint"),
    [
        (Execution, "execution_state_known"),
        (ExecutionStep, "step_state_known"),
        (ExecutionAction, "action_state_known"),
    ],
)
def test_an_unknown_state(execution, model, constraint):
    ended = {"ended_at": timezone.now()}
    refused(constraint, lambda: model.objects.update(state="perhaps", **ended))


def test_two_active_executions_of_one_system(execution):
    twin = Execution(
        system=execution.system,
        number=9,
        subject_id=uuid.uuid4(),
        subject_name="P-9",
        started_by_name="x",
    )
    refused("one_active_execution_per_system", twin.save)
    Execution.objects.update(state="succeeded", ended_at=timezone.now())
    twin.save()


def test_an_end_without_a_time_and_a_failure_without_a_reason(execution):
    refused("execution_ended_has_a_time", lambda: Execution.objects.update(state="succeeded"))
    refused("execution_ended_has_a_time", lambda: Execution.objects.update(ended_at=timezone.now()))
    refused(
        "execution_failed_has_a_reason",
        lambda: Execution.objects.update(state="failed", ended_at=timezone.now()),
    )


def test_the_same_report_twice(execution):
    def say():
        ActionReport.objects.create(
            action=ExecutionAction.objects.first(),
            attempt=1,
            broker="a",
            phase="ready",
            incarnation=1,
        )

    say()
    refused("report_once", say)
    refused("report_phase_known", lambda: ActionReport.objects.update(phase="perhaps"))


def test_one_setting_per_target_and_control_only_over_what_is_in_force(execution):
    row = Setting.objects.first()
    twin = Setting(system=row.system, kind=row.kind, target=row.target, target_key=row.target_key)
    refused("setting_once_per_target", twin.save)
    refused(
        "setting_controlled_only_of_something",
        lambda: Setting.objects.update(controlled={"limit": 1}, in_force=None, desired=None),
    )
