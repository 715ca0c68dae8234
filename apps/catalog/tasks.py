"""Define the Celery tasks of imports of interests."""

from typing import Any
from uuid import UUID

from celery import shared_task

from apps.catalog.services import imports_reap
from apps.catalog.services.import_execute import import_execute


@shared_task(name="catalog.import_interests", ignore_result=True)
def import_interests(*, interest_import: str, **_: Any) -> None:
    """Carry out one attempt of one import."""
    import_execute(public_id=UUID(interest_import))


@shared_task(name="catalog.reap_imports", ignore_result=True, expires=30)
def reap_imports(**_: Any) -> int:
    """Find imports of dead workers and of lost messages, every few seconds."""
    return imports_reap()
