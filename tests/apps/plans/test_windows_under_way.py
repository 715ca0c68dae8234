"""A maintenance window that closes holds what is under way, and rates; taking back never waits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import automatic_account
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError, Conflict
from apps.executions.models import Execution
from apps.executions.services import (
    execution_pause,
    execution_resume,
    execution_roll_back,
    executions_tick,
)
from apps.plans.services import plan_execute, windows_hold
from apps.policies.domain.terms import Effect, Terms, Window
from apps.policies.domain.windows import window_state
from apps.policies.services import automatic_resume, automatic_stop
from apps.telemetry.models import Agent
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import agents_come, agents_look, approved, make_plan, make_policy

NIGHT = datetime(2026, 3, 2, 22, 0, tzinfo=UTC)


def deny(minutes_ahead: int = -5, lasts_s: int = 3600) -> dict[str, Any]:
    """A window that forbids changes, every day from so many minutes ahead of now on."""
    start = timezone.now() + timedelta(minutes=minutes_ahead)
    cron = f"{start.minute} {start.hour} * * *"
    return {"effect": "deny", "cron": cron, "duration_s": lasts_s, "note": "quarter end"}


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    return agents


@pytest.fixture
def running(
    harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> Execution:
    """An execution of three steps in its first one."""
    plan = make_plan(
        harbour.system, ines, [rate(None, 40.0)], [population(None, 5)], [rate(40.0, 30.0)]
    )
    return plan_execute(plan=approved(plan, ines, jon), actor=olga)


def go_on(harbour: Harbour, agents: dict[str, Agent], execution: Execution) -> str:
    """As much as can happen now."""
    for _ in range(8):
        agents_look(harbour, agents)
        executions_tick()
        windows_hold()
    execution.refresh_from_db()
    return execution.state


def done(execution: Execution) -> list[str]:
    return [step.state for step in execution.steps.order_by("index")]


def test_closing_pauses_after_the_step_under_way_and_opening_goes_on(
    harbour: Harbour, agents: dict[str, Agent], running: Execution
) -> None:
    make_policy(harbour.system, windows=[deny()])
    assert windows_hold() == 1
    assert go_on(harbour, agents, running) == "paused"
    assert done(running) == ["completed", "pending", "pending"]
    assert (running.held, running.hold_because.startswith('The window "quarter end"')) == (
        True,
        True,
    )
    # Nothing is said twice.
    assert windows_hold() == 0
    make_policy(harbour.system, windows=[])
    assert go_on(harbour, agents, running) == "succeeded"


def test_an_edit_of_the_policy_holds_before_the_coordinator_looks(
    harbour: Harbour,
    agents: dict[str, Agent],
    running: Execution,
    django_capture_on_commit_callbacks: Any,
) -> None:
    admin = client_of(make_user("ada", Role.ADMIN))
    row = admin.get(f"/api/v1/policies?system={harbour.system.public_id}").json()["results"][0]
    with django_capture_on_commit_callbacks(execute=True):
        answer = admin.patch(
            f"/api/v1/policies/{row['id']}",
            {"windows": [deny()]},
            format="json",
            headers={"If-Match": f'"{row["version"]}"'},
        )
    assert answer.status_code == 200, answer.content
    for _ in range(3):
        agents_look(harbour, agents)
    running.refresh_from_db()
    assert (running.state, running.held) == ("paused", True)
    assert done(running) == ["completed", "pending", "pending"]


def test_no_step_begins_after_the_moment_whoever_looks_first(
    harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    """The row says when: an agent's report that comes before the window's loop begins nothing."""
    make_policy(harbour.system, windows=[deny(minutes_ahead=30)])
    plan = make_plan(harbour.system, ines, [rate(None, 40.0)], [population(None, 5)])
    execution = plan_execute(plan=approved(plan, ines, jon), actor=olga)
    assert execution.hold_at is not None
    # Its moment comes while the first step is under way; no loop has looked since.
    Execution.objects.update(hold_at=timezone.now() - timedelta(milliseconds=1))
    agents_look(harbour, agents)
    execution.refresh_from_db()
    assert (execution.state, done(execution)) == ("paused", ["completed", "pending"])
    reason = AuditEntry.objects.filter(action="pause").get().reason
    assert reason == "The maintenance window has closed."


def test_policy_may_let_a_plan_end(
    harbour: Harbour, agents: dict[str, Agent], running: Execution
) -> None:
    make_policy(harbour.system, windows=[deny()], pause_when_window_closes=False)
    assert go_on(harbour, agents, running) == "succeeded"


def test_resume_waits_for_the_window_unless_somebody_says_why_not(
    harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
) -> None:
    make_policy(harbour.system, windows=[deny()])
    windows_hold()
    go_on(harbour, agents, running)
    with pytest.raises(Conflict, match="quarter end") as caught:
        execution_resume(execution=running, actor=olga)
    assert caught.value.code == "outside_window"
    client, address = client_of(olga), f"/api/v1/executions/{running.public_id}/resume"
    refused = client.post(address, {"override_window": True}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "reason")
    body = {"override_window": True, "reason": "The berth is blocked."}
    assert client.post(address, body, format="json").status_code == 200
    assert go_on(harbour, agents, running) == "succeeded"
    entry = AuditEntry.objects.filter(action="resume").get()
    assert (entry.actor, entry.reason) == (olga, "The berth is blocked.")


def test_an_override_holds_for_this_closing_only(
    harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
) -> None:
    make_policy(harbour.system, windows=[deny()])
    windows_hold()
    execution_resume(execution=running, actor=olga, override_window=True, reason="Now.")
    windows_hold()
    running.refresh_from_db()
    assert (running.hold_overridden_at is None, running.hold_at) == (False, None)
    make_policy(harbour.system, windows=[])
    windows_hold()
    make_policy(harbour.system, windows=[deny()])
    windows_hold()
    assert go_on(harbour, agents, running) == "paused"


def test_an_override_ends_with_its_window_where_nobody_looked_while_it_was_open(
    harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
) -> None:
    """The coordinator was away from before the window opened until it had closed again."""
    make_policy(harbour.system, windows=[deny()])
    windows_hold()
    execution_resume(execution=running, actor=olga, override_window=True, reason="Now.")
    within = timezone.now() - timedelta(minutes=4)
    Execution.objects.update(hold_overridden_at=within)
    assert windows_hold() == 0
    before = timezone.now() - timedelta(minutes=10)
    Execution.objects.update(hold_overridden_at=before)
    assert windows_hold() == 1
    assert go_on(harbour, agents, running) == "paused"


def test_what_a_person_paused_stays_paused_when_a_window_opens(
    harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
) -> None:
    execution_pause(execution=running, actor=olga)
    make_policy(harbour.system, windows=[deny()])
    assert go_on(harbour, agents, running) == "paused"
    make_policy(harbour.system, windows=[])
    assert go_on(harbour, agents, running) == "paused"


def test_what_a_window_holds_stays_paused_if_a_person_says_so(
    harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
) -> None:
    make_policy(harbour.system, windows=[deny()])
    windows_hold()
    assert go_on(harbour, agents, running) == "paused"
    client, address = client_of(olga), f"/api/v1/executions/{running.public_id}"
    assert "pause" in client.get(address).json()["allowed_commands"]
    answer = client.post(f"{address}/pause", {"reason": "Ask the port first."}, format="json")
    assert (answer.status_code, answer.json()["held"]) == (200, False)
    assert "pause" not in client.get(address).json()["allowed_commands"]
    assert AuditEntry.objects.filter(action="pause", actor=olga).get().reason == (
        "Ask the port first."
    )
    with pytest.raises(Conflict, match="can be resumed then"):
        execution_resume(execution=running, actor=olga)
    make_policy(harbour.system, windows=[])
    assert go_on(harbour, agents, running) == "paused"
    execution_resume(execution=running, actor=olga)
    assert go_on(harbour, agents, running) == "succeeded"


def test_taking_back_waits_for_no_window_and_the_record_says_so(
    harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
) -> None:
    make_policy(harbour.system, windows=[deny()])
    windows_hold()
    go_on(harbour, agents, running)
    execution_roll_back(execution=running, actor=olga, reason="Ships are waiting.")
    assert go_on(harbour, agents, running) == "rolled_back"
    entry = AuditEntry.objects.filter(action="roll_back").get()
    assert entry.reason == "Outside the maintenance window. Ships are waiting."


def test_who_may_not_execute_overrides_nothing(running: Execution, ines: User) -> None:
    address = f"/api/v1/executions/{running.public_id}/resume"
    body = {"override_window": True, "reason": "x"}
    assert client_of(ines).post(address, body, format="json").status_code == 403


def test_a_reason_is_needed_even_without_a_window(running: Execution, olga: User) -> None:
    with pytest.raises(ApplicationError) as caught:
        execution_resume(execution=running, actor=olga, override_window=True, reason=" ")
    assert caught.value.errors[0].field == "reason"


def test_windows_that_meet_do_not_close() -> None:
    def window(hour: int) -> Window:
        return Window(effect=Effect.ALLOW, cron=f"0 {hour} * * *", duration_s=7200)

    terms = Terms(windows=(window(22), window(0)))
    closes = window_state(terms, NIGHT + timedelta(minutes=10)).closes_at
    assert closes == NIGHT + timedelta(hours=4)
    lunch = Window(effect=Effect.DENY, cron="30 23 * * *", duration_s=600)
    terms = Terms(windows=(window(22), window(0), lunch))
    assert window_state(terms, NIGHT).closes_at == NIGHT + timedelta(minutes=90)
    assert window_state(Terms(), NIGHT).closes_at is None


class TestStopOfEverythingAutomatic:
    """Executions that Weir began stop after their step; those of people go on."""

    def test_holds_what_weir_began_until_it_is_lifted(
        self, harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
    ) -> None:
        Execution.objects.update(started_by=automatic_account("trigger"))
        stop = automatic_stop(actor=olga, reason="Load test")
        assert windows_hold() == 1
        assert go_on(harbour, agents, running) == "paused"
        assert done(running) == ["completed", "pending", "pending"]
        assert running.held
        assert running.hold_because == (
            f"{olga.display_name} stopped everything that Weir does by itself: Load test."
        )
        assert windows_hold() == 0
        automatic_resume(stop=stop, actor=olga)
        assert go_on(harbour, agents, running) == "succeeded"

    def test_an_operator_may_let_one_go_on_until_the_next_stop(
        self, harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
    ) -> None:
        Execution.objects.update(started_by=automatic_account("trigger"))
        stop = automatic_stop(actor=olga, reason="Load test")
        windows_hold()
        assert go_on(harbour, agents, running) == "paused"
        with pytest.raises(Conflict, match="stopped everything that Weir does by itself"):
            execution_resume(execution=running, actor=olga)
        execution_resume(execution=running, actor=olga, override_window=True, reason="It is safe.")
        assert windows_hold() == 0
        automatic_resume(stop=stop, actor=olga)
        automatic_stop(actor=olga, reason="Again")
        assert windows_hold() == 1
        running.refresh_from_db()
        assert running.hold_at is not None
        assert go_on(harbour, agents, running) == "paused"

    def test_leaves_what_people_began(
        self, harbour: Harbour, agents: dict[str, Agent], running: Execution, olga: User
    ) -> None:
        automatic_stop(actor=olga, reason="Load test")
        assert windows_hold() == 0
        assert go_on(harbour, agents, running) == "succeeded"
