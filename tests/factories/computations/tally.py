"""Tallies, the kind that only tests know."""

from apps.accounts.models import User
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from tests.apps.runs.toy import kernel
from tests.factories.kinds import make_world
from weir.kernel import Call


def ask(actor: User) -> Run:
    return computation_start("tally", system=make_world().system, actor=actor, text="so many words")


def answer(run: Run) -> bytes:
    return kernel.answer(bytes(run.snapshot.payload), Call())
