"""Mappings of a small market."""

from apps.accounts.models import User
from apps.mappings.services import mapping_request
from apps.runs.models import Run
from tests.factories.market import QUICK, kernel_answer, make_market


def ask(actor: User) -> Run:
    return mapping_request(system=make_market().system, actor=actor, parameters=QUICK)


def answer(run: Run) -> bytes:
    return kernel_answer(run)
