"""The quay with its allocation in force, and ways to lead time on."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.recomputation.models import Firing, Schedule, Trigger
from apps.recomputation.services import schedule_create, trigger_create
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from tests.factories.quay import Quay
from tests.factories.runs import claim, kernel_answer
from weir.lifecycle.runs import RunState


class Clockwork:
    """Schedules and triggers of a system, and the workers behind them."""

    def __init__(self, quay: Quay) -> None:
        self.quay = quay
        self.system = quay.system

    def schedule(self, **values: Any) -> Schedule:
        """Every minute by default."""
        defaults = {"name": "nightly", "every_s": 60, "then": "draft"}
        return schedule_create(
            system=self.system, actor=self.quay.author, values={**defaults, **values}
        )

    def trigger(self, kind: str, **values: Any) -> Trigger:
        """Fires at once, whenever asked."""
        defaults = {"name": kind, "kind": kind, "for_s": 0.0, "cooldown_s": 0.0, "then": "draft"}
        return trigger_create(
            system=self.system, actor=self.quay.author, values={**defaults, **values}
        )

    def due(self, schedule: Schedule, seconds: float = 30.0) -> None:
        """So long ago the schedule came due; by default beat should have called long since."""
        Schedule.objects.filter(pk=schedule.pk).update(
            next_at=timezone.now() - timedelta(seconds=seconds)
        )

    def again(self) -> None:
        """Every trigger may be looked at again."""
        Trigger.objects.update(looked_at=None)

    def work(self) -> Run | None:
        """What a worker would do with the queued run of the system."""
        run = Run.objects.filter(system=self.system, state=RunState.QUEUED).first()
        if run is None:
            return None
        held = claim(run)
        run_store(held, kernel_answer(held))
        run.refresh_from_db()
        return run

    def firings(self) -> list[Firing]:
        """Oldest first."""
        return list(Firing.objects.filter(system=self.system).order_by("id"))

    def change_capacity(self, amount: float) -> None:
        """Somebody changes what b1 can do."""
        from apps.systems.services import entity_update

        broker = self.quay.brokers["b1"]
        broker.refresh_from_db()
        entity_update(
            instance=broker,
            actor=None,
            expected_version=broker.version,
            values={},
            children={"capacities": [{"resource": "cpu", "capacity": amount}]},
        )


@pytest.fixture
def clockwork(moored: Quay) -> Clockwork:
    """The quay with its allocation in force."""
    return Clockwork(moored)
