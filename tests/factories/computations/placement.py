"""Placements of a topic that a third broker has to help with."""

from apps.accounts.models import User
from apps.placements.services import placement_request
from apps.runs.models import Run
from tests.factories.streets import kernel_answer, make_streets


def ask(actor: User) -> Run:
    streets = make_streets()
    return placement_request(system=streets.system, actor=actor, topic=streets.topic)


def answer(run: Run) -> bytes:
    return kernel_answer(run)
