"""A reconciler of fifty lines owns a whole system over REST; run again, it changes nothing."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.executions.services import executions_tick
from apps.plans.models import Plan
from apps.plans.services import plans_settle
from apps.systems.models import System
from apps.telemetry.models import Agent
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour
from tests.factories.plans import agents_come, agents_look

pytestmark = pytest.mark.django_db

LABEL = "managed-by=git"


class Refused(Exception):
    """Weir refused a request; `code` is stable, the rest is for people."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.problem = problem


def send(api: Any, method: str, address: str, body: Any = None, **headers: str) -> Any:
    """Send one request. Raises Refused."""
    call = getattr(api, method)
    answer = call(f"/api/v1/{address}", body, format="json", headers=headers)
    if answer.status_code >= 400:
        raise Refused(answer.json())
    return answer.json()


def reconcile(api: Any, system: str, kinds: Any, commit: str, wait: Callable[[], None]) -> str:
    """Bring a system to what a commit says; return what became of it."""
    address = f"systems/{system}/model"
    document = {"kinds": kinds, "delete": "rest", "within": LABEL, "reason": commit}
    dry = send(api, "put", f"{address}?dry_run=true", document)
    if dry["rows"]:
        send(api, "put", address, {**document, "change_hash": dry["change_hash"]})
    wanted = {"system": system, "title": f"Commit {commit}", "change_ticket": commit}
    try:
        plan = send(api, "post", "plans", wanted, **{"Idempotency-Key": f"{system} {commit}"})
    except Refused as refusal:
        if refusal.problem["code"] == "nothing_to_change":
            return "unchanged"
        if refusal.problem["code"] != "plan_exists":
            raise
        plan = {"id": refusal.problem["plan"]}
    while True:
        address = f"plans/{plan['id']}"
        plan = send(api, "get", address)
        may = plan["allowed_commands"]
        if command := next((one for one in ("submit", "execute") if one in may), ""):
            send(api, "post", f"{address}/{command}", {}, **{"If-Match": f'"{plan["version"]}"'})
        elif plan["state"] in ("draft", "pending_review", "approved", "executing"):
            wait()
        else:
            return str(plan["state"])


def test_it_has_fifty_lines() -> None:
    lines = [*inspect.getsourcelines(Refused)[0], *inspect.getsourcelines(send)[0]]
    lines += inspect.getsourcelines(reconcile)[0]
    assert len([line for line in lines if line.strip()]) <= 50


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    return agents_come(harbour)


@pytest.fixture
def pipeline(db: None) -> Any:
    """The reconciler's account: it proposes and executes, and approves nothing."""
    return client_of(make_user("pipeline", Role.EDITOR, Role.OPERATOR))


@pytest.fixture
def wait(harbour: Harbour, agents: dict[str, Agent], jon: User) -> Callable[[], None]:
    """What others do while the reconciler waits: Jon reads and approves, agents and coordinator
    work."""
    reviewer = client_of(jon)

    def time_passes() -> None:
        for plan in send(reviewer, "get", "plans?waiting_for=me")["results"]:
            approval = {"content_hash": plan["content_hash"]}
            version = {"If-Match": f'"{plan["version"]}"'}
            send(reviewer, "post", f"plans/{plan['id']}/approve", approval, **version)
        agents_look(harbour, agents)
        executions_tick()
        plans_settle()

    return time_passes


def document_of_git(api: Any, system: str) -> dict[str, list[dict[str, Any]]]:
    """The model as a repository would hold it: everything with an id and a label of its own."""
    kinds: dict[str, list[dict[str, Any]]] = send(api, "get", f"systems/{system}/model")["kinds"]
    for kind, rows in kinds.items():
        for number, row in enumerate(rows):
            row |= {"external_id": f"{kind}-{number}", "labels": {"managed-by": "git"}}
    return kinds


def state(system: System) -> tuple[Any, ...]:
    system.refresh_from_db()
    plans = [*Plan.objects.order_by("id").values_list("number", "state", "updated_at")]
    return system.model_version, system.version, plans, AuditEntry.objects.count()


def test_it_brings_a_system_to_what_git_says_and_then_changes_nothing(
    harbour: Harbour, pipeline: Any, wait: Callable[[], None]
) -> None:
    system = str(harbour.system.public_id)
    kinds = document_of_git(pipeline, system)
    before = harbour.system.model_version
    # To take everything over changes no model, and so needs no plan.
    assert reconcile(pipeline, system, kinds, "1f0e", wait) == "unchanged"
    assert state(harbour.system)[0] == before

    git = {"labels": {"managed-by": "git"}}
    kinds["topic"].append(
        {**git, "name": "gales", "external_id": "topic-9", "source": "b", "rate_max_per_s": 50.0}
    )
    kinds["consumer_class"] = [
        {
            **git,
            "name": "albatrosses",
            "external_id": "class-9",
            "topic": "gales",
            "broker": "d",
            "utility": kinds["utility_function"][0]["name"],
            "population_max": 7,
        }
    ]
    assert reconcile(pipeline, system, kinds, "2a41", wait) == "executed"
    carried = {one.target.get("flow") for one in harbour.system.settings.exclude(in_force=None)}
    assert carried >= {"gales"}
    plan = Plan.objects.get()
    assert (plan.change_ticket, plan.state) == ("2a41", "executed")
    assert not harbour.system.consumerclass_set.filter(name="gulls").exists()

    after = state(harbour.system)
    for commit in ("2a41", "3c77"):
        assert reconcile(pipeline, system, kinds, commit, wait) in ("executed", "unchanged")
        assert state(harbour.system) == after
