"""Plans that Weir carries out without a person: within bounds, watched, taken back, stopped."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.executions.models import Execution, Setting
from apps.inbox.selectors.plans import of_plans
from apps.plans.models import Plan, Verification
from apps.plans.services import (
    plan_approve,
    plan_execute,
    plan_roll_back,
    plan_submit,
    plans_settle,
)
from apps.policies.models import AutomaticStop
from apps.policies.services import automatic_resume, automatic_stop
from apps.recomputation.models import AutomaticDecision, Firing, Schedule
from apps.recomputation.selectors.automatic import automation_of
from apps.recomputation.services import (
    automatic,
    decisions_advance,
    recomputation_tick,
    schedule_due,
)
from apps.runs.models import Run
from apps.systems.models import System
from apps.systems.services import system_delete
from apps.telemetry.models import Agent
from tests.apps.recomputation.conftest import Clockwork
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.plans import make_policy
from weir.lifecycle.plans import PlanState

pytestmark = pytest.mark.django_db

WIDE: dict[str, Any] = {
    "auto_execute": "on",
    "auto_execute_max_share": 1.0,
    "auto_execute_max_rate_change": 0.6,
    "auto_execute_max_consumers_change": 1.0,
    "auto_execute_after": 0,
    "enactment_threshold": 0.0,
}


def fired(clockwork: Clockwork, capacity: float = 800.0) -> Firing:
    """What became of a firing after somebody changed what b1 can do."""
    clockwork.change_capacity(capacity)
    schedule = Schedule.objects.filter(system=clockwork.system).first()
    clockwork.due(schedule or clockwork.schedule(then="execute"))
    recomputation_tick()
    clockwork.work()
    recomputation_tick()
    firing = clockwork.firings()[-1]
    assert (firing.state, firing.detail != "") == ("done", True), firing.detail
    return firing


def decision_of(firing: Firing) -> AutomaticDecision:
    return AutomaticDecision.objects.select_related("plan", "roll_back").get(firing=firing)


def carried_out(clockwork: Clockwork, plan: Plan) -> Plan:
    """The plan, after the agents did what its execution asks for."""
    return clockwork.quay.follow(Plan.objects.get(pk=plan.pk))


def judge(plan: Plan, judged: str) -> None:
    """The verdict about a plan, as it is stored once its windows are over."""
    Verification.objects.update_or_create(
        plan=plan,
        defaults={"judged": judged, "because": f"It is {judged}.", "judged_at": timezone.now()},
    )


def limits(clockwork: Clockwork) -> dict[str, float]:
    return clockwork.quay.approved()


class TestDecisions:
    def test_without_a_policy_that_says_so_people_decide(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, enactment_threshold=0.0)
        firing = fired(clockwork)
        assert firing.outcome == "submitted"
        assert not AutomaticDecision.objects.exists()

    def test_what_is_within_bounds_is_approved_and_carried_out(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        before = limits(clockwork)
        firing = fired(clockwork)
        decision = decision_of(firing)
        assert (firing.outcome, decision.choice) == ("approved", "execute")
        assert "It touches 50.0 % of the brokers (at most 100.0 %)" in decision.because
        assert firing.detail.endswith(". Carry it out.")
        (approval,) = decision.plan.approvals.all()
        assert (approval.person, decision.plan.state) == (None, PlanState.APPROVED)
        assert decision.because in approval.comment
        # Operators have it in their inbox, and need not do anything.
        (cause,) = of_plans(timezone.now())
        assert (cause.kind, cause.waits) == ("plan_to_execute", False)
        assert cause.detail.endswith("Weir carries it out by itself.")
        assert decisions_advance() == 1
        plan = carried_out(clockwork, decision.plan)
        assert plan.execution is not None
        assert plan.execution.started_by_name == "Schedule"
        assert limits(clockwork) != before
        # What it brought is not known yet.
        assert decisions_advance() == 0
        judge(plan, "helped")
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert (decision.end, decision.ended_because) == ("went_well", "It is helped.")
        assert automation_of(clockwork.system, timezone.now()).ends == {"went_well": 1}
        assert decisions_advance() == 0

    @pytest.mark.parametrize(
        ("bounds", "because"),
        [
            (
                {"auto_execute_max_share": 0.4},
                "It touches 50.0 % of the brokers (at most 40.0 %).",
            ),
            (
                {"auto_execute_max_rate_change": 0.1},
                "It changes a rate or bucket by 20.0 % (at most 10.0 %).",
            ),
            (
                {"auto_execute_after": 2},
                "1 plan of its kind that people approved has brought what it promised; the policy "
                "asks for 2.",
            ),
            (
                {"auto_execute_per_day": 0},
                "The policy lets Weir begin 0 plans a day; it has begun as many.",
            ),
        ],
    )
    def test_what_is_beyond_a_bound_is_left_to_people(
        self, clockwork: Clockwork, bounds: dict[str, Any], because: str
    ) -> None:
        make_policy(clockwork.system, **{**WIDE, **bounds})
        judge(Plan.objects.get(system=clockwork.system), "helped")
        firing = fired(clockwork)
        decision = decision_of(firing)
        assert (decision.choice, decision.because) == ("leave", because)
        assert firing.outcome == "submitted"
        assert firing.detail.endswith(f". Leave it to people. {because}")
        assert not decision.plan.by_itself
        assert decisions_advance() == 0
        counts = automation_of(clockwork.system, timezone.now())
        assert (counts.left, counts.ends, counts.dry_run.plans) == (1, {}, 0)

    def test_who_set_the_bounds_needs_somebody_else_for_a_plan_of_theirs(
        self, clockwork: Clockwork
    ) -> None:
        make_policy(clockwork.system, by=clockwork.quay.author, **WIDE)
        firing = fired(clockwork)
        assert decision_of(firing).because == (
            "Who set the policy's bounds has a hand in what made it."
        )
        assert firing.outcome == "submitted"

    def test_plans_go_well_before_weir_is_trusted(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **{**WIDE, "auto_execute_after": 1})
        (first,) = Plan.objects.filter(system=clockwork.system)
        judge(first, "missed")
        assert decision_of(fired(clockwork)).choice == "leave"
        judge(first, "kept")
        assert decision_of(fired(clockwork, 700.0)).choice == "execute"

    def test_no_second_one_begins_before_the_first_is_judged(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        plan = decision_of(fired(clockwork)).plan
        decisions_advance()
        carried_out(clockwork, plan)
        decision = decision_of(fired(clockwork, 700.0))
        assert (decision.choice, decision.because) == (
            "leave",
            f"What {plan} brings is not known yet.",
        )

    def test_a_newer_plan_takes_the_place_of_one_that_has_not_begun(
        self, clockwork: Clockwork
    ) -> None:
        make_policy(clockwork.system, **WIDE)
        first = fired(clockwork)
        second = fired(clockwork, 700.0)
        assert decision_of(first).end == "given_up"
        assert decision_of(second).choice == "execute"
        decisions_advance()
        carried_out(clockwork, decision_of(second).plan)

    def test_at_most_so_many_begin_a_day(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **{**WIDE, "auto_execute_per_day": 1})
        plan = decision_of(fired(clockwork)).plan
        decisions_advance()
        judge(carried_out(clockwork, plan), "helped")
        decisions_advance()
        assert decision_of(fired(clockwork, 700.0)).choice == "leave"
        AutomaticDecision.objects.update(began_at=timezone.now() - timedelta(hours=25))
        assert decision_of(fired(clockwork, 650.0)).choice == "execute"


class TestDryRun:
    def test_says_what_would_have_been_carried_out_and_leaves_it_to_people(
        self, clockwork: Clockwork
    ) -> None:
        make_policy(clockwork.system, **{**WIDE, "auto_execute": "dry"})
        firing = fired(clockwork)
        decision = decision_of(firing)
        assert (firing.outcome, decision.choice) == ("submitted", "would_execute")
        assert firing.detail.startswith(f"{decision.plan} ")
        assert firing.detail.endswith(". Would have carried it out.")
        assert decisions_advance() == 0
        assert not Execution.objects.filter(subject_id=decision.plan.public_id).exists()

    def test_adds_up_what_was_promised_while_it_would_have_held(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **{**WIDE, "auto_execute": "dry"})
        now, gains = timezone.now(), []
        for capacity, ago in ((1200.0, 10), (1300.0, 4)):
            decision = decision_of(fired(clockwork, capacity))
            AutomaticDecision.objects.filter(pk=decision.pk).update(
                created_at=now - timedelta(hours=ago)
            )
            (utility,) = [row for row in decision.plan.content.promise if row.name == "utility"]
            assert utility.before is not None
            assert utility.after is not None
            gains.append(utility.after / utility.before - 1)
        # The first plan was replaced by the second one just now, but that is six hours younger.
        body = (
            client_of(clockwork.quay.author)
            .get("/api/v1/recomputation/automation", {"system": str(clockwork.system.public_id)})
            .json()
        )
        assert (body["auto_execute"], body["would_execute"]) == ("dry", 2)
        assert body["would_last_s"] == pytest.approx(10 * 3600, abs=30)
        assert min(gains) > 0
        assert body["would_gain"] == pytest.approx(0.6 * gains[0] + 0.4 * gains[1], rel=1e-3)


class TestWaiting:
    def test_waits_for_its_window_and_says_so(self, clockwork: Clockwork) -> None:
        closed = {"effect": "deny", "cron": "* * * * *", "duration_s": 3600}
        make_policy(clockwork.system, **WIDE, windows=[closed])
        firing = fired(clockwork)
        assert decisions_advance() == 1
        assert "window" in decision_of(firing).waits_because
        assert decisions_advance() == 0
        make_policy(clockwork.system, windows=[])
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert (decision.waits_because, decision.began_at is not None) == ("", True)

    def test_is_given_up_where_the_plan_or_the_policy_has_changed(
        self, clockwork: Clockwork
    ) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork)
        make_policy(clockwork.system, auto_execute="off")
        plans_settle()
        plan = decision_of(firing).plan
        assert plan.state == PlanState.PENDING_REVIEW
        assert decisions_advance() == 1
        assert decision_of(firing).end == "given_up"
        plan.refresh_from_db()
        assert not plan.by_itself
        # Nothing of it comes back by itself.
        make_policy(clockwork.system, auto_execute="on")
        plans_settle()
        plan.refresh_from_db()
        assert (plan.state, decisions_advance()) == (PlanState.PENDING_REVIEW, 0)

    def test_is_given_up_where_it_is_beyond_the_bounds_by_now(self, clockwork: Clockwork) -> None:
        """Also where people have approved it meanwhile."""
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork)
        make_policy(clockwork.system, auto_execute_max_rate_change=0.01)
        plans_settle()
        plan = decision_of(firing).plan
        assert plan.state == PlanState.PENDING_REVIEW
        plan_approve(plan=plan, actor=clockwork.quay.reviewer, content_hash=plan.content_hash)
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert decision.end == "given_up"
        assert decision.ended_because.startswith("It changes a rate or bucket by 20.0 %")
        assert decision.plan.state == PlanState.APPROVED

    def test_is_given_up_where_the_policy_asks_for_more_by_now(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork)
        make_policy(clockwork.system, auto_execute_after=3)
        assert decisions_advance() == 1
        assert "the policy asks for 3" in decision_of(firing).ended_because
        make_policy(clockwork.system, auto_execute_after=0)
        again = fired(clockwork, 700.0)
        make_policy(clockwork.system, by=clockwork.quay.author, auto_execute_per_day=9)
        assert decisions_advance() == 1
        assert decision_of(again).ended_because.startswith("Who set the policy's bounds")

    def test_what_people_have_approved_is_theirs(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork)
        stop = automatic_stop(actor=clockwork.quay.reviewer, reason="Load test.")
        plans_settle()
        plan = decision_of(firing).plan
        plan_approve(plan=plan, actor=clockwork.quay.reviewer, content_hash=plan.content_hash)
        automatic_resume(stop=stop, actor=clockwork.quay.reviewer)
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert decision.ended_because == "People approved it, and an operator executes it."
        assert (decision.plan.state, decision.plan.by_itself) == (PlanState.APPROVED, False)

    def test_a_stale_plan_is_given_up(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork)
        clockwork.change_capacity(900.0)
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert decision.end == "given_up"
        assert "is stale" in decision.ended_because

    def test_somebody_may_be_faster(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork)
        plan = decision_of(firing).plan
        execution = plan_execute(plan=plan, actor=clockwork.quay.reviewer)
        assert decisions_advance() == 1
        assert decision_of(firing).ended_because == f"{execution} was begun by somebody else."


class TestTakingBack:
    @pytest.mark.parametrize("judged", ["missed", "partly"])
    def test_what_was_promised_and_did_not_come(self, clockwork: Clockwork, judged: str) -> None:
        make_policy(clockwork.system, **WIDE)
        before = limits(clockwork)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        judge(carried_out(clockwork, decision_of(firing).plan), judged)
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert decision.roll_back is not None
        assert decision.roll_back_because == f"It is {judged}."
        carried_out(clockwork, decision.roll_back)
        assert limits(clockwork) == before
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert (decision.end, decision.ended_because) == ("taken_back", f"It is {judged}.")
        # The same plan would come again: people have to approve one that goes well first.
        again = decision_of(fired(clockwork, 1390.0))
        assert (again.choice, again.because) == (
            "leave",
            "0 plans of its kind that people approved have brought what they promised since one "
            "that Weir began went wrong; the policy asks for 1.",
        )

    def test_a_budget_that_begins_to_burn(
        self, clockwork: Clockwork, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Others may burn already."""
        burning = {"a": "calm burns."}
        monkeypatch.setattr(automatic, "alerting", lambda _: dict(burning))
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        carried_out(clockwork, decision_of(firing).plan)
        assert decisions_advance() == 0
        burning["b"] = "swift burns."
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert decision.burned_before == ["a"]
        assert decision.roll_back_because == "An error budget burns since then. swift burns."
        assert decision.roll_back is not None
        carried_out(clockwork, decision.roll_back)
        decisions_advance()
        assert decision_of(firing).end == "taken_back"

    def test_no_other_plan_takes_the_place_of_one_that_takes_back(
        self, clockwork: Clockwork
    ) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        plan = carried_out(clockwork, decision_of(firing).plan)
        closed = {"effect": "deny", "cron": "* * * * *", "duration_s": 3600}
        make_policy(clockwork.system, windows=[closed])
        judge(plan, "missed")
        assert decisions_advance() == 1
        back = decision_of(firing).roll_back
        assert back is not None
        assert "window" in decision_of(firing).waits_because
        later = fired(clockwork, 1300.0)
        assert later.outcome == "kept"
        assert later.detail == f"{back} takes back what Weir carried out; it comes first."
        make_policy(clockwork.system, windows=[])
        clockwork.change_capacity(1400.0)
        back.refresh_from_db()
        assert decision_of(firing).end == ""

    def test_a_policy_that_no_longer_lets_weir_leaves_taking_back_to_people(
        self, clockwork: Clockwork
    ) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        plan = carried_out(clockwork, decision_of(firing).plan)
        closed = {"effect": "deny", "cron": "* * * * *", "duration_s": 3600}
        make_policy(clockwork.system, windows=[closed])
        judge(plan, "missed")
        decisions_advance()
        make_policy(clockwork.system, windows=[], auto_execute="off")
        plans_settle()
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert decision.roll_back is not None
        assert (decision.end, decision.roll_back.state) == ("given_up", "pending_review")
        assert not decision.roll_back.by_itself

    def test_who_takes_it_back_by_hand_ends_the_trust_as_well(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        plan = carried_out(clockwork, decision_of(firing).plan)
        judge(plan, "helped")
        decisions_advance()
        assert decision_of(firing).end == "went_well"
        people = clockwork.quay.author, clockwork.quay.reviewer
        back = plan_roll_back(plan=plan, actor=people[0], reason="We do not like it.")
        back = plan_submit(plan=back, actor=people[0])
        back = plan_approve(plan=back, actor=people[1], content_hash=back.content_hash)
        clockwork.quay.carry_out(back)
        again = decision_of(fired(clockwork, 1390.0))
        assert (again.choice, "since one that Weir began went wrong" in again.because) == (
            "leave",
            True,
        )

    def test_what_cannot_be_told_stays_in_force(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        judge(carried_out(clockwork, decision_of(firing).plan), "unknown")
        decisions_advance()
        decision = decision_of(firing)
        assert (decision.end, decision.roll_back) == ("unknown", None)

    def test_what_was_never_measured_is_not_waited_for(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        carried_out(clockwork, decision_of(firing).plan)
        assert decisions_advance(timezone.now() + timedelta(minutes=29)) == 0
        assert decisions_advance(timezone.now() + timedelta(minutes=31)) == 1
        assert decision_of(firing).end == "unknown"

    def test_what_would_overload_a_capacity_stays_a_draft_for_people(
        self, clockwork: Clockwork
    ) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 800.0)
        decisions_advance()
        judge(carried_out(clockwork, decision_of(firing).plan), "missed")
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert (decision.end, decision.roll_back_because) == ("given_up", "It is missed.")
        assert decision.roll_back is not None
        assert (decision.roll_back.state, decision.roll_back.by_itself) == ("draft", False)
        assert decision_of(fired(clockwork, 700.0)).choice == "leave"
        assert f"{decision.roll_back} cannot be sent for review" in decision.ended_because

    def test_what_people_changed_since_is_left_to_them(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        firing = fired(clockwork, 1400.0)
        decisions_advance()
        plan = carried_out(clockwork, decision_of(firing).plan)
        for row in Setting.objects.filter(system=clockwork.system, kind="set_flow_rate"):
            row.in_force = row.desired = {**row.in_force, "rate_per_s": 1.0}
            row.save()
        judge(plan, "missed")
        assert decisions_advance() == 1
        decision = decision_of(firing)
        assert decision.end == "given_up"
        assert "Weir cannot take it back: What " in decision.ended_because


class TestStop:
    def test_nothing_fires_is_approved_or_begun(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        operator = clockwork.quay.reviewer
        firing = fired(clockwork)
        plan = decision_of(firing).plan
        stop = automatic_stop(actor=operator, reason="Load test.")
        clockwork.due(Schedule.objects.get())
        runs = Run.objects.count()
        recomputation_tick()
        plans_settle()
        plan.refresh_from_db()
        assert plan.state == PlanState.PENDING_REVIEW
        assert not schedule_due(public_id=Schedule.objects.get().public_id)
        assert Run.objects.count() == runs
        assert decisions_advance() == 1
        text = "reviewer stopped everything that Weir does by itself: Load test."
        assert decision_of(firing).waits_because == text
        automatic_resume(stop=stop, actor=operator, reason="Over.")
        plans_settle()
        plan.refresh_from_db()
        assert plan.state == PlanState.APPROVED
        assert decisions_advance() == 1
        carried_out(clockwork, plan)
        # What came due meanwhile is made up for, once.
        recomputation_tick()
        recomputation_tick()
        assert Run.objects.count() == runs + 1

    def test_what_was_being_computed_ends_as_a_draft(self, clockwork: Clockwork) -> None:
        make_policy(clockwork.system, **WIDE)
        clockwork.change_capacity(800.0)
        clockwork.due(clockwork.schedule(then="execute"))
        recomputation_tick()
        clockwork.work()
        automatic_stop(actor=clockwork.quay.reviewer, reason="Load test.")
        recomputation_tick()
        (firing,) = clockwork.firings()
        assert firing.plan is not None
        assert (firing.outcome, firing.plan.state) == ("drafted", PlanState.DRAFT)
        assert "stopped everything that Weir does by itself" in firing.detail

    def test_is_thrown_and_lifted_over_the_api_once(self, clockwork: Clockwork) -> None:
        operator = client_of(clockwork.quay.reviewer)
        address = "/api/v1/automatic-stops"
        empty = operator.post(address, {"reason": " "}, format="json")
        assert (empty.status_code, empty.json()["errors"][0]["field"]) == (400, "reason")
        body = operator.post(address, {"reason": "Load test"}, format="json").json()
        assert (body["stopped_by_name"], body["allowed_commands"]) == ("reviewer", ["resume"])
        twice = operator.post(address, {"reason": "Again"}, format="json")
        assert (twice.status_code, twice.json()["code"]) == (409, "already_stopped")
        assert AutomaticStop.objects.count() == 1
        viewer = client_of(make_user("vera"))
        (shown,) = viewer.get(address, {"lasts": "true"}).json()["results"]
        assert (shown["id"], shown["allowed_commands"]) == (body["id"], [])
        lift = f"{address}/{body['id']}/resume"
        assert viewer.post(lift, {}, format="json").status_code == 403
        ended = operator.post(lift, {"reason": "Over"}, format="json").json()
        assert (ended["ended_by_name"], ended["end_reason"]) == ("reviewer", "Over")
        assert operator.post(lift, {}, format="json").status_code == 409
        assert viewer.get(address, {"lasts": "true"}).json()["results"] == []


def test_decisions_are_listed_with_what_they_promise(clockwork: Clockwork) -> None:
    make_policy(clockwork.system, **WIDE)
    firing = fired(clockwork, 1200.0)
    client = client_of(clockwork.quay.author)
    about = {"system": str(clockwork.system.public_id)}
    (row,) = client.get("/api/v1/recomputation/decisions", about).json()["results"]
    assert (row["choice"], row["end"], row["firing"]) == ("execute", "", str(firing.public_id))
    assert row["gain"] > 0
    assert (
        client.get("/api/v1/recomputation/decisions", {**about, "choice": "leave"}).json()[
            "results"
        ]
        == []
    )
    body = client.get("/api/v1/recomputation/automation", about).json()
    assert (body["auto_execute"], body["under_way"], body["left"]) == ("on", 1, 0)
    assert (body["went_well"], body["needed"], body["begun_lately"]) == (0, 0, 0)


def test_decisions_go_with_their_system(clockwork: Clockwork) -> None:
    make_policy(clockwork.system, **WIDE)
    firing = fired(clockwork, 1400.0)
    decisions_advance()
    judge(carried_out(clockwork, decision_of(firing).plan), "missed")
    decisions_advance()
    back = decision_of(firing).roll_back
    assert back is not None
    carried_out(clockwork, back)
    decisions_advance()
    Agent.objects.all().delete()
    system = System.objects.get(pk=clockwork.system.pk)
    system_delete(system=system, actor=clockwork.quay.author, expected_version=system.version)
    assert not AutomaticDecision.objects.exists()
