"""A program that asks for what was changed since it asked last misses no change of any row."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.executions.services import executions_tick
from apps.plans.models import Plan
from apps.plans.services import plan_approve, plan_execute, plan_submit, plans_settle
from apps.runs.services import progress_token, run_heartbeat, run_progress
from apps.runs.services.computations import run_store
from apps.systems.models import System
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour, make_harbour, rate
from tests.factories.plans import agents_come, agents_look, edit_model, make_plan
from tests.factories.runs import claim, kernel_answer, make_run
from tests.factories.studies import held, make_study, sweep_spec

pytestmark = pytest.mark.django_db
LISTS = (
    *("plans", "executions", "runs", "allocations", "studies", "agents", "users", "systems"),
    *("topics", "brokers", "policies", "recomputation/schedules"),
)
# Who may what follows from the caller and the time, and how long a lease lasts from the time.
NO_CHANGE = {"allowed_commands", "updated_at"}


class Follower:
    """Reads all lists, then only what was changed since, as a reconciler would."""

    def __init__(self, api: APIClient) -> None:
        self.api = api
        self.rows = self._read()

    def _read(self, **query: str) -> dict[tuple[str, str], dict[str, Any]]:
        return {
            (path, row["id"]): row
            for path in LISTS
            for row in self.api.get(f"/api/v1/{path}", {**query, "page_size": 500}).json()[
                "results"
            ]
        }

    def sees(self, change: Callable[[], Any], *paths: str) -> None:
        """Make a change; what was asked for since then is all that differs, and some of these
        lists have it."""
        moment = timezone.now().isoformat()
        change()
        fresh, now = self._read(updated_since=moment), self._read()
        differing = {key for key, row in now.items() if shown(row) != shown(self.rows.get(key))}
        assert differing - set(fresh) == set()
        assert {path for path, _ in differing} >= set(paths)
        for key in fresh:
            assert fresh[key]["updated_at"] >= moment.replace("+00:00", "Z"), key
        self.rows = now


def shown(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return row and {name: value for name, value in row.items() if name not in NO_CHANGE}


@pytest.fixture
def harbour(db: None, monkeypatch: pytest.MonkeyPatch) -> Harbour:
    # A lease that runs out in the middle changes the state of its agent, by time alone.
    monkeypatch.setattr("apps.telemetry.services.agents.LEASE_S", 3600.0)
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


def test_a_plan_is_followed_until_it_is_carried_out(api: APIClient, harbour: Harbour) -> None:
    ines, jon = make_user("ines", Role.EDITOR), make_user("jon", Role.APPROVER)
    olga = make_user("olga", Role.OPERATOR)
    agents = agents_come(harbour)
    follower = Follower(api)
    plans: list[Plan] = []

    def again() -> Plan:
        return Plan.objects.get(pk=plans[-1].pk)

    def approve() -> None:
        plan_approve(plan=again(), actor=jon, content_hash=again().content_hash)

    steps = [rate(None, 40.0)]
    follower.sees(lambda: plans.append(make_plan(harbour.system, ines, steps)), "plans")
    follower.sees(lambda: plan_submit(plan=again(), actor=ines), "plans")
    follower.sees(approve, "plans")
    follower.sees(lambda: agents_look(harbour, agents), "agents")
    follower.sees(lambda: plan_execute(plan=again(), actor=olga), "plans", "executions")
    for _ in range(4):
        follower.sees(executions_tick)
        follower.sees(lambda: agents_look(harbour, agents), "agents")
    follower.sees(executions_tick)
    follower.sees(plans_settle)
    assert again().state == "executed"


def test_a_plan_that_the_model_makes_stale_is_seen(api: APIClient, harbour: Harbour) -> None:
    make_plan(harbour.system, make_user("ines", Role.EDITOR), [rate(None, 40.0)])
    follower = Follower(api)
    follower.sees(lambda: edit_model(harbour), "plans", "topics", "systems")
    follower.sees(lambda: edit_model(harbour), "plans", "topics", "systems")


def test_a_run_and_what_it_computes_are_followed(api: APIClient, base_workload: System) -> None:
    follower = Follower(api)
    follower.sees(lambda: make_run(base_workload), "runs")
    run = claim(make_run(base_workload))
    follower = Follower(api)
    follower.sees(lambda: run_heartbeat(run=run), "runs")
    progress = {"iteration": 3, "utility": 4.0}
    follower.sees(lambda: run_progress(token=progress_token(run), progress=progress), "runs")
    follower.sees(lambda: run_store(run, kernel_answer(run)), "runs", "allocations")


def test_a_study_is_followed_with_its_run(api: APIClient, base_workload: System) -> None:
    node = str(api.get("/api/v1/brokers").json()["results"][0]["name"])
    study = make_study(base_workload, sweep_spec(node))
    follower = Follower(api)
    run = held(study)
    follower.sees(lambda: run_heartbeat(run=run), "studies", "runs")


def test_a_sign_in_is_a_change_of_the_account(api: APIClient, admin: User) -> None:
    person = make_user("ines", Role.EDITOR)
    follower = Follower(api)
    follower.sees(lambda: client_of(person), "users")
