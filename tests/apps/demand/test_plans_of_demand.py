"""Plans go stale where more of the demand has moved than the policy allows, and not before."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.allocations.services.computation import KIND
from apps.catalog.models import Topic
from apps.demand.domain.wanted import Measured, Subject, moved_share
from apps.demand.models import DemandEstimate
from apps.demand.selectors.measured import Window
from apps.demand.selectors.moved import moved_between
from apps.demand.selectors.used import settings_of, wanted_rates
from apps.demand.services import settings_update
from apps.demand.services.estimate import estimate_make
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plans_settle
from apps.runs.services.computations import computation_start
from apps.systems.models import System
from apps.systems.services import entity_update
from tests.factories import make_broker, make_topic, make_user
from tests.factories.fleet import Harbour, make_harbour
from tests.factories.plans import approved, make_plan, make_policy

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def use(system: System, basis: str) -> None:
    settings = settings_of(system)
    settings_update(
        settings=settings, actor=None, expected_version=settings.version, values={"basis": basis}
    )


def estimated(system: System, tides: float, gulls: float) -> DemandEstimate | None:
    """The estimate of a quarter of an hour in which these were wanted."""
    figures = [
        Measured(subject=subject, name=name, minutes=15, low=amount, mean=amount, high=amount)
        for subject, name, amount in (
            (Subject.TOPIC, "tides", tides),
            (Subject.CLASS, "gulls", gulls),
        )
    ]
    return estimate_make(system, Window(since=NOW, until=NOW, figures=figures))


@pytest.fixture
def harbour(db: None) -> Harbour:
    harbour = make_harbour()
    use(harbour.system, "measured")
    estimated(harbour.system, tides=100.0, gulls=10.0)
    return harbour


def plan_of_rates(harbour: Harbour, kind: str = KIND) -> Plan:
    """An approved plan of what is wanted now."""
    boss, jon = make_user("boss", Role.EDITOR), make_user("jon", Role.APPROVER)
    run = computation_start(KIND, system=harbour.system, actor=boss)
    plan = make_plan(harbour.system, boss, kind=kind)
    Plan.objects.filter(pk=plan.pk).update(run=run)
    plan.refresh_from_db()
    return approved(plan, boss, jon)


def plan_again(plan: Plan) -> Plan:
    plan.refresh_from_db()
    return plan


def state_of(plan: Plan) -> str:
    return plan_again(plan).state


def test_demand_within_the_band_ends_no_plan(harbour: Harbour) -> None:
    plan = plan_of_rates(harbour)
    assert estimated(harbour.system, tides=130.0, gulls=12.0) is not None
    plans_settle()
    assert state_of(plan) == "approved"


def test_demand_beyond_the_band_ends_plans_of_rates_alone(harbour: Harbour) -> None:
    plan = plan_of_rates(harbour)
    estimated(harbour.system, tides=140.0, gulls=10.0)
    assert plans_settle() == 1
    assert state_of(plan) == "stale"
    assert plan.stale_because == (
        "29 % of the demand has moved since it was planned, more than the 25 % that the policy "
        "allows: tides wants 140 msg/s instead of 100. Optimize again and make a new plan."
    )
    estimated(harbour.system, tides=100.0, gulls=10.0)
    plans_settle()
    assert state_of(plan) == "stale"


def test_the_policy_says_how_wide_the_band_is(harbour: Harbour) -> None:
    make_policy(harbour.system, demand_band=0.5)
    plan = plan_of_rates(harbour)
    estimated(harbour.system, tides=190.0, gulls=19.0)
    plans_settle()
    assert state_of(plan) == "approved"
    make_policy(harbour.system, demand_band=0.1)
    plans_settle()
    assert state_of(plan) == "stale"


def test_plans_of_other_kinds_do_not_depend_on_demand(harbour: Harbour) -> None:
    plan = plan_of_rates(harbour, kind="placement")
    estimated(harbour.system, tides=190.0, gulls=19.0)
    plans_settle()
    assert state_of(plan) == "approved"


def test_command_on_a_plan_sees_what_the_coordinator_has_not(harbour: Harbour, admin: Any) -> None:
    estimated(harbour.system, tides=50.0, gulls=5.0)
    plan = plan_of_rates(harbour)
    # The model says twice as much.
    use(harbour.system, "typed")
    with pytest.raises(Exception, match="of the demand has moved"):
        plan_execute(plan=plan, actor=admin)
    assert state_of(plan) == "stale"


def test_share_that_moved_is_of_rates_or_of_consumers(harbour: Harbour) -> None:
    assert moved_share([]) == moved_share([(0.0, 0.0)]) == 0.0
    assert moved_share([(100.0, 50.0), (0.0, 100.0)]) == 0.75
    first = DemandEstimate.objects.latest("number")
    second = estimated(harbour.system, tides=100.0, gulls=40.0)
    assert second is not None
    edition = harbour.system.edition
    moved = moved_between(edition, first.pk, second.pk)
    assert (moved.share, moved.example) == (0.75, "gulls wants 40 consumers instead of 10")
    back = moved_between(edition, second.pk, first.pk)
    assert (back.share, moved_between(edition, first.pk, first.pk).share) == (0.75, 0.0)
    assert moved_between(edition, None, None).share == 0.0
    # What nobody measures is part of all demand.
    broker = make_broker(harbour.system, "far")
    make_topic(harbour.system, "currents", source=broker, rate_max_per_s=900.0)
    harbour.system.refresh_from_db()
    third = estimated(harbour.system, tides=200.0, gulls=40.0)
    assert third is not None
    assert moved_between(harbour.system.edition, second.pk, third.pk).share == pytest.approx(1 / 11)


def test_edits_of_the_model_move_demand_on_both_sides(harbour: Harbour) -> None:
    """Estimates keep what was used when they were made; plans are compared by the model of now."""
    topic = Topic.objects.get(system=harbour.system, name="tides")
    before = estimated(harbour.system, tides=2000.0, gulls=10.0)
    assert before is not None
    assert wanted_rates(harbour.system)["tides"] == 1000.0
    entity_update(
        instance=topic,
        actor=None,
        expected_version=topic.version,
        values={"rate_max_per_s": 1000.0},
    )
    harbour.system.refresh_from_db()
    plan = plan_of_rates(harbour)
    after = estimated(harbour.system, tides=2000.0, gulls=12.0)
    assert after is not None
    plans_settle()
    assert state_of(plan) == "approved"
    estimated(harbour.system, tides=990.0, gulls=12.0)
    plans_settle()
    assert "tides wants 990 msg/s instead of 2,000" in plan_again(plan).stale_because
