"""Mappings computed by schedules, and the plans that are made of them."""

from dataclasses import replace

import pytest

from apps.accounts.domain.roles import Role
from apps.common.errors import ApplicationError
from apps.mappings.models import Mapping, MappingSettings
from apps.mappings.services.computation import MAPPING
from apps.plans.models import Plan
from apps.recomputation.models import Firing, Schedule
from apps.recomputation.services import (
    firings_settle,
    recomputation_tick,
    schedule_create,
    schedule_run,
    schedule_update,
)
from apps.runs.models import Run
from apps.runs.selectors import computations, run_note
from apps.runs.services.computations import run_store
from tests.factories import make_user
from tests.factories.market import Market, in_turn, kernel_answer, make_market
from tests.factories.runs import claim

pytestmark = pytest.mark.django_db


@pytest.fixture
def market() -> Market:
    return make_market()


@pytest.fixture
def editor():
    return make_user("author", Role.EDITOR)


def nightly(market: Market, editor, **values) -> Schedule:
    defaults = {"name": "nightly", "every_s": 3600, "subject": "mapping", "then": "none"}
    return schedule_create(system=market.system, actor=editor, values={**defaults, **values})


def fired(schedule: Schedule) -> Firing:
    firing = schedule_run(schedule=schedule, actor=schedule.answerable)
    recomputation_tick()
    firing.refresh_from_db()
    return firing


def test_a_schedule_maps_by_its_method_and_says_what_came_out(market, editor):
    firing = fired(nightly(market, editor, method="flat", time_limit_s=20.0))
    run = claim(Run.objects.get())
    assert (run.kind, run.method, run.time_limit_s) == ("mapping", "flat", 20.0)
    assert run_note(run).startswith("nightly: ")
    run_store(run, kernel_answer(run))
    assert firings_settle() == 1
    firing.refresh_from_db()
    assert (firing.outcome, firing.plan) == ("computed", None)
    assert firing.detail.startswith(f"M-1 maps {len(market.wanted)} flows: ")
    assert Mapping.objects.get().note.startswith("nightly: ")


def test_without_a_method_it_is_the_installations(market, editor):
    fired(nightly(market, editor))
    assert Run.objects.get().method == "joint"


def test_what_cannot_be_mapped_fails_with_what_to_do(market, editor):
    market.stream(2).delete()
    firing = fired(nightly(market, editor))
    assert firing.state == "failed"
    assert firing.detail.startswith("No stream has the number 2;")


@pytest.mark.parametrize(("then", "state"), [("draft", "draft"), ("submit", "pending_review")])
def test_a_schedule_makes_the_plan_of_what_it_mapped(market, editor, then, state):
    in_turn(market)
    firing = fired(nightly(market, editor, then=then))
    run = claim(Run.objects.get())
    run_store(run, kernel_answer(run))
    assert firings_settle() == 1
    firing.refresh_from_db()
    plan = firing.plan
    assert plan is not None
    assert (plan.kind, plan.state, plan.run) == ("mapping", state, run)
    assert firing.outcome == ("drafted" if then == "draft" else "submitted")
    assert plan.answerable == editor
    assert plan.author is not None
    assert plan.author.automatic


def test_a_schedule_has_nothing_to_change_where_the_map_is_kept(market, editor):
    in_turn(market)
    MappingSettings.objects.create(system=market.system, flow_move_work=1e12, stream_move_work=1e12)
    firing = fired(nightly(market, editor, then="draft"))
    run = claim(Run.objects.get())
    run_store(run, kernel_answer(run))
    firings_settle()
    firing.refresh_from_db()
    assert (firing.outcome, firing.plan) == ("nothing", None)
    assert not Plan.objects.exists()


@pytest.fixture
def unplannable(monkeypatch):
    """Mappings as a kind of which no plan can be made, as an app may register one."""
    monkeypatch.setitem(computations(), "mapping", replace(MAPPING, plan=None))


@pytest.mark.parametrize("then", ["draft", "submit"])
def test_a_plan_of_what_cannot_be_planned_is_refused_at_its_field(
    market, editor, then, unplannable
):
    with pytest.raises(ApplicationError) as caught:
        nightly(market, editor, then=then)
    (error,) = caught.value.errors
    assert error.field == "then"
    assert error.message == "No plan can be made of a mapping. Choose `none`: compute only."
    assert not Schedule.objects.exists()
    plans = nightly(market, editor, subject="allocation", then="draft")
    with pytest.raises(ApplicationError) as caught:
        schedule_update(
            schedule=plans, actor=editor, expected_version=1, values={"subject": "mapping"}
        )
    assert caught.value.errors[0].field == "then"
