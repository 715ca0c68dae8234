"""An execution that a broker does not answer calls an operator, until they decide or it answers."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.executions.models import Execution, ExecutionAction
from apps.executions.services.decide import action_decide
from apps.inbox.services import items_keep
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import FakeAgent, Harbour, Loop, enrol, make_harbour, shift, start


@pytest.fixture
def harbour(transactional_db: None) -> Harbour:
    return make_harbour()


@pytest.fixture
def agents(harbour: Harbour) -> Iterator[dict[str, FakeAgent]]:
    loop = Loop()
    yield {name: enrol(loop, broker).come() for name, broker in harbour.brokers.items()}
    loop.close()


@pytest.fixture
def operator(harbour: Harbour) -> User:
    return make_user("operator", Role.OPERATOR)


def items(person: User) -> list[dict[str, Any]]:
    items_keep()
    rows: list[dict[str, Any]] = client_of(person).get("/api/v1/inbox").json()["results"]
    return rows


def a_minute_passes() -> None:
    for row in ExecutionAction.objects.exclude(moved_at=None):
        assert row.moved_at is not None
        moved_at = row.moved_at - timedelta(seconds=61)
        ExecutionAction.objects.filter(pk=row.pk).update(moved_at=moved_at)


@pytest.fixture
def committed(harbour: Harbour, agents: dict[str, FakeAgent]) -> Execution:
    """A shift of which a and b have switched, and c has said nothing."""
    execution = start(harbour.system, [shift("a", "b", "c")])
    for broker in "abc":
        agents[broker].answer("ready", "tides")
    for broker in "ab":
        agents[broker].answer("switched")
    assert ExecutionAction.objects.get().state == "committed"
    return execution


def test_a_broker_that_does_not_answer_needs_a_decision(
    committed: Execution, operator: User
) -> None:
    assert items(operator) == []
    a_minute_passes()
    (item,) = items(operator)
    assert (item["kind"], item["waits"]) == ("execution_stuck", True)
    assert "no answer from c" in item["detail"]
    action = ExecutionAction.objects.get()
    action_decide(
        execution=committed,
        action=action.public_id,
        actor=operator,
        outcome="bury",
        reason="c is on fire",
    )
    a_minute_passes()
    (item,) = items(operator)
    assert (item["kind"], item["waits"]) == ("execution_failed", False)


def test_an_answer_ends_it(
    committed: Execution, operator: User, agents: dict[str, FakeAgent]
) -> None:
    a_minute_passes()
    assert [item["kind"] for item in items(operator)] == ["execution_stuck"]
    agents["c"].answer("switched")
    assert items(operator) == []


def test_hands_that_contradict_wait_for_an_operator(
    harbour: Harbour, agents: dict[str, FakeAgent], operator: User
) -> None:
    execution = start(harbour.system, [shift("a", "b", "c")])
    for broker in "abc":
        agents[broker].answer("ready", "tides")
    action = ExecutionAction.objects.get()
    report = {"action": str(action.public_id), "attempt": 1}
    agents["a"].say({**report, "phase": "released", "by_hand": "Weir is gone"})
    for broker in "bc":
        agents[broker].say({**report, "phase": "switched"})
    kinds = {item["kind"]: item for item in items(operator)}
    assert set(kinds) == {"execution_failed", "execution_stuck"}
    assert kinds["execution_stuck"]["waits"] is True
    assert "some brokers made the change, some released it" in kinds["execution_stuck"]["detail"]
    # It stays to be decided, whatever has become of the execution.
    Execution.objects.update(ended_at=timezone.now() - timedelta(days=8))
    assert [item["kind"] for item in items(operator)] == ["execution_stuck"]
    action_decide(
        execution=execution,
        action=action.public_id,
        actor=operator,
        outcome="commit",
        reason="It was made at two of three",
    )
    assert items(operator) == []
