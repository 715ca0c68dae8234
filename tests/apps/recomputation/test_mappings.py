"""Mappings computed by schedules and triggers: as often as asked, without a plan."""

import pytest

from apps.accounts.domain.roles import Role
from apps.common.errors import ApplicationError
from apps.mappings.models import Mapping
from apps.recomputation.models import Firing, Schedule, Trigger
from apps.recomputation.services import (
    firings_settle,
    recomputation_tick,
    schedule_create,
    schedule_run,
    schedule_update,
    trigger_create,
)
from apps.runs.models import Run
from apps.runs.selectors import run_note
from apps.runs.services.computations import run_store
from tests.factories import make_user
from tests.factories.market import Market, kernel_answer, make_market
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


@pytest.mark.parametrize("then", ["draft", "submit"])
def test_a_plan_is_refused_at_its_field(market, editor, then):
    with pytest.raises(ApplicationError) as caught:
        nightly(market, editor, then=then)
    (error,) = caught.value.errors
    assert error.field == "then"
    assert error.message == "No plan can be made of a mapping. Choose `none`: compute only."
    assert not Schedule.objects.exists()
    trigger = {"name": "moved", "kind": "capacity_change", "subject": "mapping", "then": then}
    with pytest.raises(ApplicationError) as caught:
        trigger_create(system=market.system, actor=editor, values=trigger)
    assert caught.value.errors[0].field == "then"
    assert not Trigger.objects.exists()


def test_a_plan_is_refused_of_a_rule_that_changes_its_subject_or_its_end(market, editor):
    plans = nightly(market, editor, subject="allocation", then="draft")
    maps = nightly(market, editor, name="maps")
    for schedule, values in ((plans, {"subject": "mapping"}), (maps, {"then": "draft"})):
        with pytest.raises(ApplicationError) as caught:
            schedule_update(schedule=schedule, actor=editor, expected_version=1, values=values)
        assert caught.value.errors[0].field == "then"
    both = {"subject": "mapping", "then": "none"}
    schedule_update(schedule=plans, actor=editor, expected_version=1, values=both)


@pytest.mark.parametrize(
    ("rules", "more"), [("schedules", {"every_s": 60}), ("triggers", {"kind": "load_drift"})]
)
def test_over_the_api_too_and_the_usual_end_is_a_draft(api, market, rules, more):
    body = {"system": str(market.system.public_id), "name": "maps", "subject": "mapping", **more}
    answer = api.post(f"/api/v1/recomputation/{rules}", body, format="json")
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == ["then"]
    answer = api.post(f"/api/v1/recomputation/{rules}", {**body, "then": "none"}, format="json")
    assert answer.status_code == 201, answer.content
