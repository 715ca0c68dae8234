"""What was carried out is taken back by a plan of its own."""

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.selectors import in_force
from apps.executions.selectors.modelled import STRUCTURE
from apps.plans.models import Plan
from apps.plans.services import plan_undo
from apps.telemetry.models import Agent
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import agents_come, agents_look, approved, carried_out, make_plan


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    return agents


@pytest.fixture
def executed(harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User) -> Plan:
    """Two plans, one after the other; the second one."""
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    steps = [[population(5, 3)], [rate(40.0, 60.0)]]
    plan = make_plan(harbour.system, ines, *steps, title="Neap tide")
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    plan.refresh_from_db()
    return plan


def test_undone_is_exactly_what_was_before(
    executed: Plan, harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    undo = plan_undo(plan=executed, actor=ines)
    assert (undo.state, undo.title, undo.source_name) == ("draft", "Undo P-2 Neap tide", "P-2")
    assert undo.content.promise[0].before == 140.0
    carried_out(harbour, agents, approved(undo, ines, jon), olga)
    found = in_force(harbour.system).settings
    rates = [value for (kind, _), value in found.items() if kind not in STRUCTURE]
    assert sorted(tuple(value.items()) for value in rates) == [
        (("burst", 5.0), ("rate_per_s", 40.0)),
        (("limit", 5),),
    ]


def test_only_what_was_carried_out(plan: Plan, ines: User) -> None:
    with pytest.raises(Conflict) as caught:
        plan_undo(plan=plan, actor=ines)
    assert caught.value.code == "not_executed"


def test_not_where_something_else_came_after(
    executed: Plan, harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    later = make_plan(harbour.system, ines, [rate(60.0, 70.0)])
    carried_out(harbour, agents, approved(later, ines, jon), olga)
    with pytest.raises(Conflict, match="rate_per_s 70") as caught:
        plan_undo(plan=executed, actor=ines)
    assert caught.value.code == "not_in_force"


def test_over_the_api(executed: Plan, ines: User, olga: User) -> None:
    address = f"/api/v1/plans/{executed.public_id}"
    assert client_of(olga).get(address).json()["allowed_commands"] == []
    assert client_of(olga).post(f"{address}/undo").status_code == 403
    client = client_of(ines)
    assert client.get(address).json()["allowed_commands"] == ["undo"]
    headers = {"Idempotency-Key": "once"}
    answer = client.post(f"{address}/undo", headers=headers)
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert answer.headers["Location"] == f"/api/v1/plans/{body['id']}"
    assert [a["title"] for step in body["steps"] for a in step["actions"]] == [
        "Set tides at a from 60 msg/s to 40 msg/s, burst 5",
        "Admit 5 consumers of gulls at c (was 3)",
    ]
    assert client.post(f"{address}/undo", headers=headers).json()["id"] == body["id"]
    names = client.get("/api/v1/plans?search=P-3").json()["results"]
    assert [row["name"] for row in names] == ["P-3"]
    assert make_user("reader", Role.VIEWER).permissions.isdisjoint({"propose_plan"})
