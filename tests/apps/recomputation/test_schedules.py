"""Schedules: when they fire, what becomes of it, and who answers for it."""

import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.calibration.models import CalibrationSettings, Correction
from apps.calibration.services.settings import settings_for
from apps.catalog.models import Topic
from apps.common.errors import ApplicationError
from apps.plans.models import Plan
from apps.plans.services import plan_approve, plan_submit
from apps.recomputation.domain.timing import in_words, next_time
from apps.recomputation.models import Firing, Schedule
from apps.recomputation.services import (
    recomputation_tick,
    schedule_run,
    schedule_update,
    schedules_catch_up,
)
from apps.runs.models import Run
from apps.systems.services import entity_update
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.plans import make_policy
from weir.lifecycle.firings import FiringState
from weir.lifecycle.plans import PlanState

pytestmark = pytest.mark.django_db


def test_a_due_schedule_computes_once_however_often_it_is_looked_at(clockwork):
    schedule = clockwork.schedule(then="none")
    clockwork.due(schedule, seconds=200)
    for _ in range(3):
        recomputation_tick()
    (firing,) = clockwork.firings()
    assert firing.state == FiringState.COMPUTING
    assert firing.run is not None
    assert firing.run.asked_by is not None
    assert firing.run.asked_by.display_name == "Schedule"
    assert re.search(r"found 2\d\d s later", firing.why)
    schedule.refresh_from_db()
    # What was missed is made up for once; the beat of the interval stays.
    assert timezone.now() < schedule.next_at <= timezone.now() + timedelta(seconds=60)
    assert clockwork.work() is not None
    recomputation_tick()
    firing.refresh_from_db()
    assert (firing.state, firing.outcome) == (FiringState.DONE, "computed")


def test_the_run_begins_where_the_last_allocation_left_off(clockwork):
    before = Run.objects.filter(system=clockwork.system).latest("id")
    clockwork.due(clockwork.schedule(then="none"))
    recomputation_tick()
    assert Run.objects.filter(system=clockwork.system).latest("id").starts_from == before


def test_nothing_to_change_is_an_outcome_and_makes_no_plan(clockwork):
    plans = Plan.objects.count()
    clockwork.due(clockwork.schedule(then="submit"))
    recomputation_tick()
    clockwork.work()
    recomputation_tick()
    (firing,) = clockwork.firings()
    assert (firing.state, firing.outcome) == (FiringState.DONE, "nothing")
    assert Plan.objects.count() == plans


def computed(clockwork, then, **policy):
    """A schedule whose run found something to change."""
    make_policy(clockwork.system, enactment_threshold=0.0, **policy)
    clockwork.change_capacity(800.0)
    clockwork.due(clockwork.schedule(then=then))
    recomputation_tick()
    clockwork.work()
    recomputation_tick()
    (firing,) = clockwork.firings()
    return firing


def test_a_draft_is_in_the_name_of_the_schedule_and_nobody_answerable_approves_it(clockwork):
    firing = computed(clockwork, "draft")
    assert (firing.state, firing.outcome) == (FiringState.DONE, "drafted")
    plan = firing.plan
    assert plan is not None
    assert plan.state == PlanState.DRAFT
    assert plan.author.display_name == "Schedule"
    assert plan.answerable == clockwork.quay.author
    both = clockwork.quay.author
    both.roles = [Role.EDITOR.value, Role.APPROVER.value]
    both.save()
    plan = plan_submit(plan=plan, actor=clockwork.quay.reviewer)
    with pytest.raises(ApplicationError) as refusal:
        plan_approve(plan=plan, actor=both, content_hash=plan.content_hash)
    assert refusal.value.code == "author_cannot_approve"
    third = make_user("third", Role.APPROVER)
    plan = plan_approve(plan=plan, actor=third, content_hash=plan.content_hash)
    assert plan.state == PlanState.APPROVED


def test_a_plan_that_would_overload_a_broker_stays_a_draft_for_a_person(clockwork):
    make_policy(clockwork.system, enactment_threshold=0.0)
    clockwork.change_capacity(1500.0)
    topic = Topic.objects.get(system=clockwork.system, name="t1")
    entity_update(
        instance=topic,
        actor=None,
        expected_version=topic.version,
        values={"rate_max_per_s": 200.0},
    )
    clockwork.due(clockwork.schedule(then="submit"))
    recomputation_tick()
    clockwork.work()
    # Meanwhile messages are measured to cost b1 half as much again as the model says.
    settings = settings_for(system=clockwork.system)
    CalibrationSettings.objects.filter(pk=settings.pk).update(correct_errors=True)
    Correction.objects.create(
        broker=clockwork.quay.brokers["b1"], resource="cpu", factor=1.5, at=timezone.now()
    )
    recomputation_tick()
    (firing,) = clockwork.firings()
    assert (firing.state, firing.outcome) == (FiringState.DONE, "drafted")
    assert firing.plan.state == PlanState.DRAFT


def test_an_edit_leaves_who_answers_and_keeps_the_editor_from_deciding(clockwork):
    editor = make_user("editor", Role.EDITOR, Role.APPROVER)
    schedule = clockwork.schedule(then="submit")
    schedule = schedule_update(
        schedule=schedule, actor=editor, expected_version=1, values={"time_limit_s": 30.0}
    )
    assert schedule.answerable == clockwork.quay.author
    Schedule.objects.exclude(pk=schedule.pk).delete()
    make_policy(clockwork.system, enactment_threshold=0.0)
    clockwork.change_capacity(800.0)
    clockwork.due(schedule)
    recomputation_tick()
    clockwork.work()
    recomputation_tick()
    plan = clockwork.firings()[0].plan
    assert plan.answerable == clockwork.quay.author
    assert set(plan.shaped_by) == {clockwork.quay.author.pk, editor.pk}
    with pytest.raises(ApplicationError) as refusal:
        plan_approve(plan=plan, actor=editor, content_hash=plan.content_hash)
    assert refusal.value.code == "author_cannot_approve"


def test_whose_rule_it_is_does_not_decide_where_somebody_else_fired_it(clockwork):
    owner = clockwork.quay.author
    owner.roles = [Role.EDITOR.value, Role.APPROVER.value]
    owner.save()
    schedule = clockwork.schedule(then="submit")
    make_policy(clockwork.system, enactment_threshold=0.0)
    clockwork.change_capacity(800.0)
    other = make_user("other", Role.EDITOR)
    schedule_run(schedule=schedule, actor=other)
    recomputation_tick()
    clockwork.work()
    recomputation_tick()
    plan = clockwork.firings()[0].plan
    assert plan.answerable == other
    with pytest.raises(ApplicationError) as refusal:
        plan_approve(plan=plan, actor=owner, content_hash=plan.content_hash)
    assert refusal.value.code == "author_cannot_approve"


def test_taking_over_is_asked_for_and_in_the_record(clockwork):
    from apps.audit.models import AuditEntry

    editor = make_user("editor", Role.EDITOR)
    schedule = clockwork.schedule()
    client = client_of(editor)
    address = f"/api/v1/recomputation/schedules/{schedule.public_id}"
    answer = client.patch(address, {"take_over": True}, format="json", headers={"if-match": '"1"'})
    assert (answer.status_code, answer.json()["answerable"]) == (200, "editor")
    entry = AuditEntry.objects.filter(object_id=schedule.public_id, action="update").get()
    was = clockwork.quay.author.display_name
    assert (entry.before, entry.after) == ({"answerable": was}, {"answerable": "editor"})


def test_the_database_too_refuses_a_decision_of_who_is_answerable(clockwork):
    from django.db import IntegrityError

    from apps.plans.models import Approval, Decision

    plan = computed(clockwork, "submit").plan
    with pytest.raises(IntegrityError, match="nobody decides"), transaction.atomic():
        Approval.objects.create(
            plan=plan,
            person=clockwork.quay.author,
            decision=Decision.APPROVE,
            content_hash=plan.content_hash,
            model_version=plan.model_version,
            expires_at=timezone.now() + timedelta(hours=1),
        )


def test_submitting_asks_the_policy(clockwork):
    firing = computed(clockwork, "submit")
    assert firing.outcome == "submitted"
    assert firing.plan.state == PlanState.PENDING_REVIEW


def test_the_policy_may_approve_by_itself(clockwork):
    firing = computed(clockwork, "submit", auto_approve_max_share=1.0, auto_approve_max_change=1.0)
    assert firing.outcome == "approved"
    assert firing.plan.state == PlanState.APPROVED


def test_what_a_person_sent_for_review_is_left_alone(clockwork):
    firing = computed(clockwork, "draft")
    plan = plan_submit(plan=firing.plan, actor=clockwork.quay.author)
    make_policy(clockwork.system, enactment_band=0.01)
    clockwork.due(Schedule.objects.get())
    recomputation_tick()
    clockwork.work()
    # Something else is in force than the plan in review says: the next plan would differ.
    from apps.executions.models import Setting

    row = Setting.objects.filter(kind="set_flow_rate").first()
    row.in_force = row.desired = {**row.in_force, "rate_per_s": 10.0}
    row.save()
    recomputation_tick()
    last = clockwork.firings()[-1]
    assert (last.state, last.outcome) == (FiringState.DONE, "kept")
    assert last.plan == plan
    plan.refresh_from_db()
    assert plan.state == PlanState.PENDING_REVIEW


def test_a_firing_during_a_run_is_remembered_once(clockwork):
    schedule = clockwork.schedule(then="none")
    schedule_run(schedule=schedule, actor=clockwork.quay.author)
    recomputation_tick()
    for _ in range(3):
        schedule_run(schedule=schedule, actor=clockwork.quay.author)
    recomputation_tick()
    states = [firing.state for firing in clockwork.firings()]
    assert states == ["computing", "waiting", "merged", "merged"]
    assert Run.objects.filter(system=clockwork.system).exclude(state="succeeded").count() == 1
    clockwork.work()
    recomputation_tick()
    assert [f.state for f in clockwork.firings()] == ["done", "computing", "merged", "merged"]
    assert clockwork.firings()[2].merged_into == clockwork.firings()[1]


def test_of_two_that_wait_the_one_that_does_more_stays(clockwork):
    weak, strong = clockwork.schedule(then="none"), clockwork.schedule(name="b", then="submit")
    schedule_run(schedule=weak, actor=clockwork.quay.author)
    schedule_run(schedule=strong, actor=clockwork.quay.author)
    first, second = clockwork.firings()
    assert (first.state, first.merged_into) == ("merged", second)
    assert (second.state, second.then) == ("waiting", "submit")


def test_it_waits_for_a_run_that_a_person_asked_for(clockwork):
    from tests.factories.runs import make_run

    make_run(clockwork.system)
    clockwork.due(clockwork.schedule(then="none"))
    recomputation_tick()
    assert [firing.state for firing in clockwork.firings()] == ["waiting"]
    clockwork.work()
    recomputation_tick()
    assert [firing.state for firing in clockwork.firings()] == ["computing"]


def test_a_failed_run_fails_the_firing_with_its_reason(clockwork):
    from apps.runs.services import run_fail
    from tests.factories.runs import claim

    clockwork.due(clockwork.schedule())
    recomputation_tick()
    run_fail(run=claim(Run.objects.latest("id")), code="job_failed", reason="The job failed.")
    recomputation_tick()
    (firing,) = clockwork.firings()
    assert firing.state == FiringState.FAILED
    assert "The job failed." in firing.detail


def test_pausing_ends_what_is_due_and_resuming_counts_from_now(clockwork):
    schedule = clockwork.schedule()
    author = clockwork.quay.author
    clockwork.due(schedule)
    schedule = schedule_update(
        schedule=schedule, actor=author, expected_version=1, values={"enabled": False}
    )
    assert schedule.next_at is None
    assert not PeriodicTask.objects.get(name__startswith="recomputation").enabled
    assert schedules_catch_up() == 0
    schedule = schedule_update(
        schedule=schedule, actor=author, expected_version=2, values={"enabled": True}
    )
    assert schedule.next_at > timezone.now() + timedelta(seconds=50)


@pytest.mark.django_db(transaction=True)
def test_many_processes_fire_a_due_schedule_once(clockwork):
    clockwork.due(clockwork.schedule(then="none"))
    barrier = threading.Barrier(4)

    def tick() -> None:
        try:
            barrier.wait()
            recomputation_tick()
        finally:
            connection.close()

    threads = [threading.Thread(target=tick) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Firing.objects.count() == 1
    assert Run.objects.filter(state="queued").count() == 1


def test_automatic_accounts_are_no_people(clockwork, api):
    clockwork.due(clockwork.schedule(then="none"))
    recomputation_tick()
    account = User.objects.get(username="weir:schedule")
    assert not account.is_active
    assert not account.has_usable_password()
    assert account.permissions == make_user("nobody").permissions
    names = [row["username"] for row in api.get("/api/v1/users").json()["results"]]
    assert "weir:schedule" not in names
    assert api.get(f"/api/v1/users/{account.public_id}").status_code == 404


@pytest.mark.parametrize(
    ("every_s", "cron", "words"),
    [
        (60, "", "Every minute"),
        (900, "", "Every 15 minutes"),
        (7200, "", "Every 2 hours"),
        (86_400, "", "Every day"),
        (95, "", "Every 95 seconds"),
        (None, "0 2 * * 1-5", "At 02:00 on Monday through Friday, UTC"),
    ],
)
def test_a_schedule_in_words(every_s, cron, words):
    assert in_words(every_s=every_s, cron=cron, timezone="UTC") == words


def test_an_interval_keeps_its_beat_and_skips_what_was_missed():
    anchor = datetime(2026, 1, 1, 0, 0, 0, tzinfo=UTC)
    after = anchor + timedelta(seconds=605)
    due = next_time(every_s=60, cron="", timezone="UTC", after=after, anchor=anchor)
    assert due == anchor + timedelta(seconds=660)


def test_cron_is_read_in_its_time_zone():
    after = datetime(2026, 7, 1, 0, 0, tzinfo=UTC)
    due = next_time(every_s=None, cron="0 8 * * *", timezone="Europe/Berlin", after=after)
    assert due == datetime(2026, 7, 1, 6, 0, tzinfo=UTC)
