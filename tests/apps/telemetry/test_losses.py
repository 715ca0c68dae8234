"""What agents lost: counted over their restarts, shown, and in the record."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.telemetry.models import Agent, Loss
from apps.telemetry.services import Introduction, agent_enrol, agent_report, agent_session
from apps.telemetry.services.losses import RECORD_EVERY
from tests.factories import make_broker, make_system

pytestmark = pytest.mark.django_db
HERE = Introduction(
    agent_version="1", product="nats", address="nats://127.0.0.1:4222", facts={}, capabilities={}
)


@pytest.fixture
def live() -> Agent:
    agent, _ = agent_enrol(broker=make_broker(make_system(), "quay"), actor=None)
    return agent_session(agent=agent, introduction=HERE)


def report(agent: Agent, lost: dict[str, dict[str, int]], began_at: float | None = 100.0) -> None:
    load = {} if began_at is None else {"began_at": began_at}
    now = Agent.objects.select_related("system", "broker").get(pk=agent.pk)
    with transaction.atomic():
        agent_report(
            agent=now,
            incarnation=now.incarnation,
            sequence=None,
            observed=None,
            telemetry={"interval_s": 1.0, "broker": {}, "agent": load, "lost": lost},
        )


def count(flow: str = "tides", reason: str = "too_large") -> int:
    return Loss.objects.get(flow=flow, reason=reason).count


def test_what_one_process_counts_is_counted_once(live):
    for said in (3, 3, 5, 4):  # the last report came late
        report(live, {"tides": {"too_large": said}})
    assert count() == 5


def test_the_count_goes_on_over_restarts(live):
    report(live, {"tides": {"too_large": 5}})
    report(live, {}, began_at=200.0)
    report(live, {"tides": {"too_large": 7}}, began_at=200.0)
    report(live, {"tides": {"too_large": 1}}, began_at=300.0)
    assert count() == 13


def test_a_new_session_of_one_process_counts_nothing_twice(live):
    report(live, {"tides": {"too_large": 5}})
    agent_session(agent=live, introduction=HERE)
    report(live, {"tides": {"too_large": 6}})
    assert count() == 6


def test_an_agent_that_does_not_say_when_it_began_begins_anew_when_it_falls(live):
    for said in (5, 2, 3):
        report(live, {"tides": {"too_large": said}}, began_at=None)
    assert count() == 8


def test_each_flow_and_reason_is_counted_for_itself(live):
    report(live, {"tides": {"too_large": 1, "link_full": 2}, "": {"unreadable": 4}})
    assert {(row.flow, row.reason): row.count for row in Loss.objects.all()} == {
        ("tides", "too_large"): 1,
        ("tides", "link_full"): 2,
        ("", "unreadable"): 4,
    }


def test_nothing_lost_is_nothing_kept(live):
    report(live, {"tides": {"too_large": 0}})
    assert not Loss.objects.exists()


def test_a_loss_is_in_the_record_at_once_and_while_it_goes_on(live):
    entries = AuditEntry.objects.filter(action="lose")
    report(live, {"tides": {"too_large": 3}})
    report(live, {"tides": {"too_large": 4}})
    (first,) = entries
    assert first.system_id == live.system.public_id
    assert first.after == {"messages": 3, "flow": "tides", "reason": "too_large"}
    Loss.objects.update(recorded_at=timezone.now() - RECORD_EVERY - timedelta(seconds=1))
    report(live, {"tides": {"too_large": 9}})
    last = entries.latest("id")
    assert last.before == {"messages": 3}
    assert last.after == {"messages": 9, "flow": "tides", "reason": "too_large"}
    assert "6 messages of tides lost at quay" in last.reason


def test_people_and_scrapes_see_it(live, api, client):
    report(live, {"tides": {"too_large": 3}, "": {"unreadable": 1}})
    address = f"/api/v1/telemetry/losses?system={live.system.public_id}"
    rows = {row["flow"]: row for row in api.get(address).json()["results"]}
    assert rows["tides"]["count"] == 3
    assert rows["tides"]["broker_name"] == "quay"
    assert "too large" in rows["tides"]["explanation"]
    labels = f'system="{live.system.name}",broker="quay",flow="tides",reason="too_large"'
    scraped = client.get("/metrics").content.decode()
    assert f"weir_messages_lost_total{{{labels}}} 3" in scraped
    assert "# TYPE weir_messages_lost_total counter" in scraped
