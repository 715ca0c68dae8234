"""Any one process of the fleet killed with -9 while a plan is carried out: it is carried out."""

import pytest

from config.stack import Stack
from tests.e2e.fleet import Fleet
from tests.e2e.test_kills import kill_and_wait

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("part", ["coordinator", "agent-rot-1", "broker-rot-1", "web"])
def test_execution_survives_kill_of(part: str, weir: Stack, fleet: Fleet) -> None:
    fleet.policy(pace_s=2)
    fleet.shake()
    plan = fleet.approved_plan()
    execution = fleet.execute(plan)

    kill_and_wait(weir, part)

    done = fleet.wait_execution(execution, "succeeded", seconds=60)
    assert done["actions_done"] == done["actions_total"] > 0
    fleet.everybody.wait(f"/api/v1/plans/{plan['id']}", lambda row: row["state"] == "executed", 60)
    # Nothing half done: the brokers hold what the plan says, the links are the overlay's.
    fleet.wait_live()
    fleet.wait_admitted()
    enforced = fleet.enforced()
    links = {frozenset((name, other)) for name, row in enforced.items() for other in row["links"]}
    assert links == fleet.edges()
    assert len(links) == len(enforced) - 1
