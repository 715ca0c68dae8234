"""Fits of a lab whose telemetry was made with known coefficients."""

from apps.accounts.models import User
from apps.calibration.services import fit_request
from apps.runs.models import Run
from tests.factories.lab import kernel_answer, make_lab, measure


def ask(actor: User) -> Run:
    return fit_request(system=measure(make_lab()).system, actor=actor)


def answer(run: Run) -> bytes:
    return kernel_answer(run)
