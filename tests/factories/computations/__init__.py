"""Runs of every kind of computation, led to their states by the services, without Spark.

A module per kind, of its name: `ask(actor)` opens a run in a system of its own, `answer(run)` gives
what the job would answer.
"""

from importlib import import_module
from types import ModuleType

from apps.accounts.models import User
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from tests.factories.runs import claim


def factory(kind: str) -> ModuleType:
    """The module of this kind."""
    return import_module(f"{__name__}.{kind}")


def queued(kind: str, actor: User) -> Run:
    """A run that nobody has taken."""
    run: Run = factory(kind).ask(actor)
    return run


def succeeded(kind: str, actor: User) -> Run:
    """A run whose answer is stored."""
    held = claim(queued(kind, actor))
    run_store(held, factory(kind).answer(held))
    return Run.objects.get(pk=held.pk)
