"""A roll back takes back what the execution did, and nothing that came after it."""

import pytest

from apps.accounts.models import User
from apps.executions.models import Execution
from apps.executions.services import execution_stop, executions_tick
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plans_settle
from apps.telemetry.models import Agent
from tests.conftest import client_of
from tests.factories.fleet import Harbour, document_for, population, rate
from tests.factories.plans import agents_come, agents_look, approved, carried_out, make_plan


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    return agents


@pytest.fixture
def stopped(
    harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> Execution:
    """The second plan, stopped after its first step: the rate fell from 40 to 20."""
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    steps = [[rate(40.0, 20.0)], [population(5, 3)]]
    plan = approved(make_plan(harbour.system, ines, *steps, title="Neap"), ines, jon)
    execution = plan_execute(plan=plan, actor=olga)
    execution_stop(execution=execution, actor=olga)
    agents_look(harbour, agents)
    executions_tick()
    plans_settle()
    execution.refresh_from_db()
    assert execution.state == "stopped"
    return execution


def rate_told(agents: dict[str, Agent]) -> float:
    agents["a"].refresh_from_db()
    return document_for(agents["a"]).gates["tides"].rate_per_s


def test_nothing_that_a_later_plan_brought(
    harbour: Harbour,
    agents: dict[str, Agent],
    stopped: Execution,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    later = make_plan(harbour.system, ines, [rate(20.0, 10.0)], title="Storm")
    carried_out(harbour, agents, approved(later, ines, jon), olga)
    address = f"/api/v1/executions/{stopped.public_id}"
    assert client_of(olga).get(address).json()["allowed_commands"] == []
    answer = client_of(olga).post(f"{address}/roll-back", {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_what_is_in_force")
    assert rate_told(agents) == 10.0


def test_not_even_where_a_later_plan_came_to_the_same_value(
    harbour: Harbour,
    agents: dict[str, Agent],
    stopped: Execution,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    for before, after in ((20.0, 10.0), (10.0, 20.0)):
        later = make_plan(harbour.system, ines, [rate(before, after)])
        carried_out(harbour, agents, approved(later, ines, jon), olga)
    address = f"/api/v1/executions/{stopped.public_id}/roll-back"
    assert client_of(olga).post(address, {}, format="json").status_code == 409
    assert rate_told(agents) == 20.0


def test_it_still_takes_back_what_stands_alone(
    harbour: Harbour, agents: dict[str, Agent], stopped: Execution, olga: User
) -> None:
    address = f"/api/v1/executions/{stopped.public_id}"
    assert client_of(olga).get(address).json()["allowed_commands"] == ["roll_back"]
    assert client_of(olga).post(f"{address}/roll-back", {}, format="json").status_code == 200
    assert rate_told(agents) == 40.0
    plan = f"/api/v1/plans/{Plan.objects.get(execution=stopped).public_id}"
    said = client_of(olga).get(plan).json()["stale_because"]
    assert said.startswith(f"{stopped} was stopped")
    assert said.endswith("The execution is being rolled back.")
    agents_look(harbour, agents)
    executions_tick()
    plans_settle()
    said = client_of(olga).get(plan).json()["stale_because"]
    assert said.endswith("The execution was rolled back since.")


def test_what_it_takes_back_is_counted_apart_from_what_it_did(
    harbour: Harbour, agents: dict[str, Agent], stopped: Execution, olga: User
) -> None:
    client, address = client_of(olga), f"/api/v1/executions/{stopped.public_id}"
    names = ("actions_done", "actions_total", "actions_undone", "actions_to_undo")

    def counts() -> list[tuple[int, ...]]:
        plan = client.get(f"/api/v1/plans/{Plan.objects.get(execution=stopped).public_id}").json()
        bodies = (client.get(address).json(), plan["execution"])
        return [tuple(body[name] for name in names) for body in bodies]

    assert counts() == [(1, 2, 0, 0)] * 2
    client.post(f"{address}/roll-back", {}, format="json")
    assert counts() == [(1, 2, 0, 1)] * 2
    agents_look(harbour, agents)
    executions_tick()
    assert counts() == [(1, 2, 1, 1)] * 2
