"""Schedules and triggers of the overlay: evaluated again, and a plan only where it is worth it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.evaluations.models import Evaluation
from apps.recomputation.models import Firing, Schedule
from apps.recomputation.selectors.watched import look
from apps.recomputation.services import recomputation_tick, schedule_create, schedule_run
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from apps.telemetry.models import Sample
from tests.factories import make_user
from tests.factories.overlays import Row, kernel_answer, make_evaluation, make_row
from tests.factories.runs import claim
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db


@pytest.fixture
def row() -> Row:
    return make_row()


def nightly(row: Row, **values) -> Schedule:
    defaults = {"name": "nightly", "every_s": 3600, "subject": "overlay", "then": "draft"}
    return schedule_create(
        system=row.system,
        actor=make_user("author", Role.EDITOR),
        values={**defaults, **values},
    )


def fired(schedule: Schedule) -> Firing:
    """The schedule, run once, with what a worker does."""
    firing = schedule_run(schedule=schedule, actor=schedule.answerable)
    recomputation_tick()
    run = claim(Run.objects.get(state=RunState.QUEUED, kind="overlay"))
    run_store(run, kernel_answer(run))
    recomputation_tick()
    firing.refresh_from_db()
    return firing


def measure(row: Row, rate: float = 100.0) -> None:
    """A sample of every broker in which `news` is published and read, and nothing else."""
    Sample.objects.all().delete()
    told = {
        "a": {"flows": {"news": {"passed_per_s": rate}}},
        "e": {"classes": {"readers-news": {"admitted": 10, "delivered_per_s": 10 * rate}}},
    }
    for name, broker in row.brokers.items():
        payload = {"interval_s": 1.0, **told.get(name, {})}
        Sample.objects.create(broker=broker, at=timezone.now(), payload=payload)


def test_what_is_worth_the_way_becomes_a_draft(row):
    firing = fired(nightly(row))
    assert (firing.state, firing.outcome) == ("done", "drafted"), firing.detail
    assert firing.plan is not None
    assert (firing.plan.kind, firing.plan.author.automatic) == ("overlay", True)
    assert firing.plan.answerable.username == "author"


def test_what_is_worth_too_little_is_nothing_with_the_reason(row):
    firing = fired(nightly(row, least_benefit=1e12))
    assert (firing.outcome, firing.plan) == ("nothing", None)
    assert "asks for more than 1,000,000,000,000" in firing.detail


def test_doing_nothing_is_the_best_answer_to_a_good_overlay():
    row = make_row("good", edges=("ab", "bc", "cd", "ae"))
    firing = fired(nightly(row))
    assert (firing.outcome, firing.plan) == ("nothing", None)
    assert "nothing is better than the overlay in force" in firing.detail


def test_computing_only_says_what_it_found(row):
    firing = fired(nightly(row, then="none"))
    assert (firing.outcome, firing.plan) == ("computed", None)
    assert firing.detail.startswith("O-1: ")


def test_an_allocation_and_an_overlay_wait_side_by_side(row):
    overlay = nightly(row)
    rates = schedule_create(
        system=row.system,
        actor=overlay.answerable,
        values={"name": "rates", "every_s": 3600},
    )
    for schedule in (overlay, rates):
        schedule_run(schedule=schedule, actor=overlay.answerable)
    assert sorted(Firing.objects.values_list("subject", "state")) == [
        ("allocation", "waiting"),
        ("overlay", "waiting"),
    ]
    recomputation_tick()
    assert sorted(Run.objects.values_list("kind", flat=True)) == ["allocation", "overlay"]


def test_a_method_of_the_other_subject_is_refused_at_its_field(api, row):
    body = {"system": str(row.system.public_id), "name": "x", "every_s": 60}
    for subject, method in (("overlay", "lrgp"), ("allocation", "minimum_cost")):
        answer = api.post(
            "/api/v1/recomputation/schedules",
            {**body, "subject": subject, "method": method},
            format="json",
        )
        assert answer.status_code == 400, answer.json()
        assert answer.json()["errors"][0]["field"] == "method"


def test_the_fullest_broker_is_seen_by_what_agents_measure(row):
    assert look("broker_overload", row.system).value is None
    measure(row)
    reading = look("broker_overload", row.system)
    # e hands each of 100 msg/s to 10 consumers at 2 units, and has 10,000 units per second.
    assert reading.value == pytest.approx(0.2, rel=0.1)
    assert reading.detail.startswith("e handles")


def test_routing_drift_is_the_links_that_a_message_crosses_now(row):
    measure(row)
    assert "not evaluated yet" in look("routing_drift", row.system).detail
    make_evaluation(row)
    assert look("routing_drift", row.system).value == pytest.approx(0.0)
    near = {"flows": {"local": {"passed_per_s": 100.0}}}
    at_c = {"classes": {"readers-local": {"admitted": 10, "delivered_per_s": 1000.0}}}
    Sample.objects.filter(broker=row.brokers["b"]).update(payload={"interval_s": 1.0, **near})
    Sample.objects.filter(broker=row.brokers["c"]).update(payload={"interval_s": 1.0, **at_c})
    reading = look("routing_drift", row.system)
    assert reading.value == pytest.approx((4 - 2.5) / 4)
    assert "crosses 2.5 links, 4 at O-1" in reading.detail


def test_a_broker_over_its_capacity_for_long_enough_evaluates_the_overlay(row):
    from apps.recomputation.models import Trigger
    from apps.recomputation.services import trigger_create

    measure(row, rate=600.0)
    trigger = trigger_create(
        system=row.system,
        actor=make_user("author", Role.EDITOR),
        values={
            "name": "full",
            "kind": "broker_overload",
            "subject": "overlay",
            "threshold": 1.0,
            "for_s": 600.0,
        },
    )
    recomputation_tick()
    assert not Firing.objects.exists()
    Trigger.objects.update(above_since=timezone.now() - timedelta(seconds=601), looked_at=None)
    recomputation_tick()
    firing = Firing.objects.get(trigger=trigger)
    assert (firing.subject, firing.state) == ("overlay", "computing")
    evaluation = Evaluation.objects.get(run=firing.run)
    assert evaluation.note.startswith("full: e handles")
