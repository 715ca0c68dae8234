"""Measured demand leads to a plan without anybody's hand, and the plan says whose it is."""

import pytest
from django.utils import timezone

from apps.catalog.models import ConsumerClass
from apps.demand.domain.wanted import Measured, Subject
from apps.demand.selectors.measured import Window
from apps.demand.selectors.used import settings_of
from apps.demand.services import settings_update
from apps.demand.services.estimate import estimate_make
from apps.recomputation.services import recomputation_tick
from tests.apps.recomputation.conftest import Clockwork

pytestmark = pytest.mark.django_db


def test_consumers_who_wait_become_a_plan_that_names_them(clockwork: Clockwork) -> None:
    system, now = clockwork.system, timezone.now()
    settings = settings_of(system)
    settings_update(settings=settings, actor=None, expected_version=1, values={"basis": "measured"})
    trigger = clockwork.trigger("demand_change", threshold=0.2)
    recomputation_tick()
    trigger.refresh_from_db()
    assert (trigger.value, clockwork.firings()) == (0.0, [])
    row = ConsumerClass.objects.filter(system=system).order_by("name").first()
    assert row is not None
    wanted = Measured(subject=Subject.CLASS, name=row.name, minutes=15, low=1.0, mean=1.0, high=1.0)
    assert estimate_make(system, Window(since=now, until=now, figures=[wanted]))
    clockwork.again()
    recomputation_tick()
    (firing,) = clockwork.firings()
    assert firing.why.startswith(f"{row.name} wants 1 consumer instead of 4 since R-")
    clockwork.work()
    recomputation_tick()
    firing.refresh_from_db()
    assert (firing.state, firing.outcome) == ("done", "drafted")
    assert firing.plan is not None
    assert firing.why in str(firing.plan.content.why)
