"""Parts of a topic's bucket: where a flow enters because of them, over HTTP and Postgres."""

from django.db.models import F

from apps.executions.models import Execution, Revision, Setting
from tests.factories.fleet import start
from weir.coordination.wire import Bucket
from weir.model.plan import Action

PART = {"rate_per_s": 30.0, "size": 1.5, "mode": "enforce"}
NO_PART = {"rate_per_s": 0.0, "size": 0.0, "mode": "enforce"}


def state(execution: Execution) -> str:
    execution.refresh_from_db()
    return execution.state


def part(at: str, before: dict | None, after: dict | None) -> Action:
    target = {"flow": "tides", "broker": at}
    return Action(kind="set_bucket", target=target, before=before, after=after)


def test_a_flow_enters_wherever_it_has_a_part_of_its_bucket(harbour, agents):
    execution = start(harbour.system, [part("a", None, PART)], [part("b", None, PART)])
    assert not agents["b"].poll_now().flows["tides"].ingress
    assert agents["a"].obey().buckets == {"tides": Bucket(rate_per_s=30.0, size=1.5)}
    document = agents["b"].obey()
    assert document.flows["tides"].ingress
    assert document.buckets == {"tides": Bucket(rate_per_s=30.0, size=1.5)}
    assert state(execution) == "succeeded"
    start(harbour.system, [part("b", PART, None)], [part("a", PART, None)])
    for agent in ("b", "a"):
        assert agents[agent].obey().buckets == {}
    assert not agents["b"].poll_now().flows["tides"].ingress
    assert agents["a"].poll_now().flows["tides"].ingress


def test_a_part_of_nothing_closes_the_ingress(harbour, agents):
    execution = start(harbour.system, [part("a", None, NO_PART)], [part("b", None, PART)])
    assert not agents["a"].obey().flows["tides"].ingress
    assert agents["b"].obey().flows["tides"].ingress
    assert state(execution) == "succeeded"


def test_a_part_that_no_agent_shows_is_not_in_force(harbour, agents):
    execution = start(harbour.system, [part("a", None, PART)])
    agents["a"].poll_now()
    agents["a"].obey(buckets={"tides": {"rate_per_s": 30.0, "size": 9.0}})
    assert state(execution) == "running"


def test_once_a_part_is_enforced_a_flow_enters_nowhere_else(harbour, agents):
    start(harbour.system, [part("b", None, {**PART, "mode": "count"})])
    agents["b"].obey()
    assert agents["a"].obey().flows["tides"].ingress, "what is only counted closes nothing"
    start(harbour.system, [part("b", {**PART, "mode": "count"}, PART)])
    agents["b"].obey()
    source = agents["a"].obey()
    assert not source.flows["tides"].ingress
    assert source.buckets == {"tides": Bucket(rate_per_s=0.0, size=0.0)}


def test_a_part_of_a_flow_that_is_carried_no_more_is_left_out(harbour, agents):
    start(harbour.system, [part("a", None, PART)])
    agents["a"].obey()
    Setting.objects.filter(system=harbour.system, kind="carry_flow").delete()
    Revision.objects.filter(system=harbour.system).update(number=F("number") + 1)
    document = agents["a"].poll_now()
    assert (document.flows, document.buckets) == ({}, {})
