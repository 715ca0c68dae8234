"""What a plan says before approval of messages that it makes wait."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.plans.models import Plan
from apps.plans.selectors.waits import waits_of
from apps.plans.services import plan_discard
from tests.factories import make_topic
from tests.factories.backlogs import waits
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import make_plan


def sending(harbour: Harbour, offered: float, *, waiting: int = 287, **members: Any) -> None:
    """The tides arrive at this rate, and are let pass."""
    waits(
        harbour.brokers["a"],
        [waiting] * 12,
        offered_per_s=offered,
        **{"passed_per_s": offered, **members},
    )


def gate(harbour: Harbour, *rates: float | None) -> Plan:
    """A draft that gives the gate of the tides these rates, one a step."""
    steps = [[rate(a, b)] for a, b in zip((None, *rates), rates, strict=False)]
    return make_plan(harbour.system, None, *steps)


def test_a_gate_below_what_arrives_makes_a_reliable_topic_wait(harbour: Harbour) -> None:
    sending(harbour, 160.0, most_messages=100_000)
    (row,) = waits_of(gate(harbour, 40.0)).topics
    assert (row.topic, row.topic_id) == ("tides", str(harbour.topic.public_id))
    assert (row.broker, row.reliable, row.waiting, row.alarm) == ("a", True, 287, True)
    assert row.excess_per_s == pytest.approx(120)
    assert row.full_in_s == pytest.approx((100_000 - 287) / 120)
    assert row.sentence == (
        "tides: 120 msg/s more arrive than leave; full in 14 minutes (100,000 messages)."
    )


def test_without_a_known_limit_no_end_is_told(harbour: Harbour) -> None:
    sending(harbour, 160.0)
    (row,) = waits_of(gate(harbour, 40.0)).topics
    assert (row.full_in_s, row.alarm) == (None, False)
    assert row.sentence == "tides: 120 msg/s more arrive than leave; no limit known."


def test_the_storage_may_end_first(harbour: Harbour) -> None:
    load = {"stored_bytes": 0, "most_stored_bytes": 120_000}
    sending(harbour, 160.0, most_messages=100_000, message_bytes=100.0, load=load)
    (row,) = waits_of(gate(harbour, 40.0)).topics
    assert row.full_in_s == pytest.approx(10)


@pytest.mark.parametrize("offered", [39.0, 40.0, 40.3])
def test_a_gate_that_lets_pass_what_arrives_makes_nobody_wait(
    harbour: Harbour, offered: float
) -> None:
    sending(harbour, offered, most_messages=100_000)
    assert waits_of(gate(harbour, 40.0)).topics == []


def test_the_last_rate_of_a_gate_counts(harbour: Harbour) -> None:
    sending(harbour, 160.0, most_messages=100_000)
    assert waits_of(gate(harbour, 40.0, 200.0)).topics == []
    assert waits_of(gate(harbour, 40.0, None)).topics == []


def test_messages_of_a_best_effort_topic_are_discarded(harbour: Harbour) -> None:
    make_topic(harbour.system, "radar", source=harbour.brokers["b"])
    waits(harbour.brokers["b"], [0] * 12, flow="radar", offered_per_s=100.0)
    plan = make_plan(harbour.system, None, [rate(None, 40.0, flow="radar", at="b")])
    (row,) = waits_of(plan).topics
    assert (row.reliable, row.full_in_s, row.alarm) == (False, None, False)
    assert row.sentence == "radar: 60 of 100 msg/s will be discarded."


def test_what_nobody_measures_is_named(harbour: Harbour) -> None:
    waits = waits_of(gate(harbour, 40.0))
    assert (waits.topics, waits.unmeasured) == ([], ["tides"])


def test_a_plan_without_gates_makes_nobody_wait(harbour: Harbour) -> None:
    sending(harbour, 160.0, most_messages=100_000)
    waits = waits_of(make_plan(harbour.system, None, [population(None, 5)]))
    assert (waits.topics, waits.unmeasured) == ([], [])


def test_the_api_says_it_until_the_plan_is_settled(
    harbour: Harbour, ines: User, api: APIClient
) -> None:
    sending(harbour, 160.0, most_messages=100_000)
    plan = gate(harbour, 40.0)
    body = api.get(f"/api/v1/plans/{plan.public_id}").json()
    (row,) = body["waits"]["topics"]
    assert (row["excess_per_s"], row["alarm"]) == (pytest.approx(120), True)
    plan_discard(plan=plan, actor=ines)
    assert api.get(f"/api/v1/plans/{plan.public_id}").json()["waits"] is None
