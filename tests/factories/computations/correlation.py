"""Searches for publishers that burst together, as agents measured them."""

from apps.accounts.models import User
from apps.correlation.services import correlation_request
from apps.runs.models import Run
from tests.factories.bay import PIER, QUAY, answer_of, group, heard, make_bay


def ask(actor: User) -> Run:
    bay = make_bay()
    heard(bay)
    return correlation_request(system=bay.system, actor=actor, topic=bay.topic)


def answer(run: Run) -> bytes:
    return answer_of(run, group(QUAY), group(PIER))
