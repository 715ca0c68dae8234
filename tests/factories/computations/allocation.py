"""Allocations of the base workload."""

from apps.accounts.models import User
from apps.runs.models import Run
from tests.factories import make_base_workload
from tests.factories.runs import kernel_answer, make_run


def ask(actor: User) -> Run:
    return make_run(make_base_workload(), actor)


def answer(run: Run) -> bytes:
    return kernel_answer(run)
