"""Define the Celery tasks of the life of runs."""

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_process_init

from apps.runs.services import gateway, runs_reap
from apps.runs.services.execute import run_execute
from apps.runs.services.leftovers import Sweep

sweep = Sweep()


@worker_process_init.connect
def prepare(**_: Any) -> None:
    """Prepare a process that carries out runs; only the worker of the queue of runs forks any."""
    gateway.client_load()


@shared_task(name="runs.execute", ignore_result=True)
def execute(*, run: str, **_: Any) -> None:
    """Carry out one attempt of one run, of whatever kind."""
    sweep()
    run_execute(public_id=UUID(run))


@shared_task(name="runs.reap", ignore_result=True, expires=30)
def reap(**_: Any) -> int:
    """Find runs of dead workers and of lost messages, every few seconds."""
    return runs_reap()
