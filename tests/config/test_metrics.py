"""What Prometheus asks of the web process."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.recomputation.models import Firing
from apps.telemetry.models import Agent, Sample
from tests.factories import make_system
from tests.factories.backlogs import waits
from tests.factories.fleet import make_harbour, population, start
from tests.factories.kinds import make_world
from tests.factories.plans import make_plan
from tests.factories.runs import make_run
from weir.lifecycle.firings import FIRINGS, FiringState

pytestmark = pytest.mark.django_db


def lines(client) -> list[str]:
    answer = client.get("/metrics")
    assert answer["Content-Type"].startswith("text/plain")
    return answer.content.decode().splitlines()


def test_runs_plans_and_executions_are_counted_by_state(client):
    make_run(make_world().system)
    harbour = make_harbour("quay")
    make_plan(harbour.system, None, [population(None, 3)])
    start(harbour.system, [population(None, 3)])
    shown = lines(client)
    assert 'weir_runs{state="queued"} 1' in shown
    assert 'weir_plans{state="draft"} 1' in shown
    assert 'weir_executions{state="running"} 1' in shown


def test_firings_are_counted_by_rule_and_state(client):
    systems = [make_system("pier"), make_system("quay")]
    for system, rule, state in (
        (systems[0], "nightly", FiringState.WAITING),
        (systems[1], "objectives missed", FiringState.MERGED),
        (systems[1], "objectives missed", FiringState.MERGED),
    ):
        ended_at = timezone.now() if state in FIRINGS.ended else None
        Firing.objects.create(system=system, cause=rule, state=state.value, ended_at=ended_at)
    shown = lines(client)
    assert 'weir_firings{system="pier",rule="nightly",state="waiting"} 1' in shown
    assert 'weir_firings{system="quay",rule="objectives missed",state="merged"} 2' in shown


def test_agents_and_what_they_measure(client):
    harbour = make_harbour('quay "7"')
    now = timezone.now()
    for letter, until in (("a", now + timedelta(minutes=1)), ("b", now - timedelta(minutes=1))):
        Agent.objects.create(
            system=harbour.system,
            broker=harbour.brokers[letter],
            prefix=letter,
            digest=letter * 64,
            incarnation=1,
            lease_until=until,
        )
    for at, passed in ((now - timedelta(seconds=2), 1.0), (now, 42.5)):
        payload = {
            "flows": {"tides": {"offered_per_s": 60.0, "passed_per_s": passed, "backlog": 3}},
            "classes": {"gulls": {"admitted": 4, "waiting": 0}},
        }
        Sample.objects.create(broker=harbour.brokers["a"], at=at, payload=payload)
    shown = lines(client)
    where = 'system="quay \\"7\\"",broker="a"'
    assert f"weir_agent_up{{{where}}} 1" in shown
    silent = where.replace('"a"', '"b"')
    assert f"weir_agent_up{{{silent}}} 0" in shown
    assert f'weir_flow_passed_per_s{{{where},flow="tides"}} 42.5' in shown
    assert f'weir_flow_backlog_messages{{{where},flow="tides"}} 3' in shown
    assert f'weir_class_admitted{{{where},class="gulls"}} 4' in shown
    # Nothing is said twice, and every line that is no comment is a sample.
    samples = [line for line in shown if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in samples]
    assert len(set(names)) == len(names)


def test_backlogs_of_reliable_flows_say_how_they_grow_and_end(client):
    harbour = make_harbour("quay")
    waits(harbour.brokers["a"], most_messages=100_000)
    waits(make_harbour("pier").brokers["a"], [7] * 12)
    shown = dict(
        line.rsplit(" ", 1) for line in lines(client) if "backlog_" in line and line[0] != "#"
    )
    where = 'system="quay",broker="a",flow="tides"'
    assert float(shown[f"weir_flow_backlog_growth_per_s{{{where}}}"]) == pytest.approx(
        100, rel=1e-3
    )
    assert float(shown[f"weir_flow_backlog_full_in_s{{{where}}}"]) == pytest.approx(887, rel=1e-2)
    assert shown[f"weir_flow_backlog_alarm{{{where}}}"] == "1"
    still = where.replace("quay", "pier")
    assert shown[f"weir_flow_backlog_alarm{{{still}}}"] == "0"
    assert f"weir_flow_backlog_full_in_s{{{still}}}" not in shown


def test_a_scrape_costs_few_queries(client, django_assert_max_num_queries):
    for name in ("one", "two"):
        waits(make_harbour(name).brokers["a"])
    with django_assert_max_num_queries(10):
        client.get("/metrics")
