"""Evaluations of a goal that is worth the way to it."""

from apps.accounts.models import User
from apps.evaluations.services import evaluation_request
from apps.runs.models import Run
from tests.factories.overlays import kernel_answer, make_row


def ask(actor: User) -> Run:
    row = make_row()
    evaluation = evaluation_request(
        system=row.system, actor=actor, goals=[row.goal], methods=[], time_limit_s=5.0
    )
    return evaluation.run


def answer(run: Run) -> bytes:
    return kernel_answer(run)
