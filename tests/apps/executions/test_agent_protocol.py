"""Sessions, fencing, waiting for documents: what an agent's requests are answered."""

import json
import time
from concurrent.futures import TimeoutError as NotYet

import pytest
from django.test import Client

from apps.executions.api import agents as views
from apps.executions.api import messages
from apps.executions.models import ActionReport
from apps.executions.services import document_cache as desk
from apps.executions.services import reports
from apps.executions.services.advance import execution_advance
from apps.systems.models import System
from apps.systems.services import system_delete
from apps.telemetry.models import Agent, Sample
from apps.telemetry.services import agent_enrol, agent_revoke
from tests.factories.fleet import FakeAgent, agent_row, enrol, rate, shift, start

SOON_S = 60.0
"""However slow the machine is. A poll that ends by itself (`views.POLL_S`) answers 204."""
OBSERVED = {"version": "v", "gates": {"tides": {"rate_per_s": 1.0, "burst": 2.0}}, "links": ["b"]}


def problem(answer, status, code):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["status"], body["code"]) == (status, code)
    return body["detail"]


@pytest.fixture
def agent(loop, harbour) -> FakeAgent:
    return enrol(loop, harbour.brokers["a"])


class TestSession:
    def test_says_who_it_is_and_how_long_it_may(self, agent):
        body = {"agent_version": "1.0", "product": "nats", "address": "nats://127.0.0.1:4222"}
        answer = agent.post("session", body)
        assert answer.json() == {
            "system": "harbour",
            "broker": "a",
            "incarnation": 1,
            "lease_s": 10.0,
            "poll_s": 20.0,
            "restored": "",
        }
        row = agent_row(agent)
        assert (row.said_address, row.product) == ("nats://127.0.0.1:4222", "nats")
        assert row.state() == "live"

    def test_the_next_one_fences_the_former(self, agent):
        agent.come()
        former = FakeAgent(agent.loop, "a", agent.credential, incarnation=agent.incarnation)
        agent.come()
        assert agent.incarnation == former.incarnation + 1
        detail = problem(former.say(observed=OBSERVED), 409, "fenced")
        assert detail.startswith("agent of a: incarnation 1 was replaced by 2.")
        problem(former.asking().result(SOON_S), 409, "fenced")
        assert agent_row(agent).observed is None
        assert agent.say(observed=OBSERVED).status_code == 200

    def test_without_one_nothing_is_heard(self, agent):
        problem(agent.say(observed=OBSERVED), 409, "fenced")
        problem(agent.asking().result(SOON_S), 409, "fenced")
        assert agent_row(agent).state() == "never"

    def test_a_vote_of_a_fenced_session_is_not_counted(self, agents, harbour):
        start(harbour.system, [shift("a", "b", "c")])
        former = FakeAgent(
            agents["a"].loop, "a", agents["a"].credential, incarnation=agents["a"].incarnation
        )
        order = former.poll_now().orders[0]
        agents["a"].come()
        answer = former.say({"action": order.action, "attempt": 1, "phase": "ready"})
        problem(answer, 409, "fenced")
        assert not ActionReport.objects.exists()

    def test_who_waits_is_fenced_at_once(self, agent):
        agent.come().poll()
        waiting = agent.asking()
        time.sleep(0.2)
        agent.come()
        problem(waiting.result(SOON_S), 409, "fenced")


class TestCredential:
    def test_unknown_is_401(self, agent):
        requests = (
            ("POST", "session", {"json": {}}),
            ("POST", "report", {"json": {"incarnation": 1}}),
            ("GET", "document", {"params": {"incarnation": "1"}}),
        )
        for header in ("", "Bearer ", "Bearer weira_wrong", "Basic YTpi"):
            headers = {"Authorization": header}
            for method, what, content in requests:
                answer = agent.loop.run(
                    agent.loop.client.request(
                        method, f"/agent/v1/{what}", headers=headers, **content
                    )
                )
                problem(answer, 401, "unknown_credential")
                assert answer.headers["www-authenticate"] == "Bearer"

    def test_revoked_is_401_also_for_who_waits(self, agent):
        agent.come().poll()
        waiting = agent.asking()
        time.sleep(0.2)
        agent_revoke(agent=agent_row(agent), actor=None)
        problem(waiting.result(SOON_S), 401, "unknown_credential")
        problem(agent.say(), 401, "unknown_credential")

    def test_enrolling_again_ends_the_old_one(self, agent, harbour):
        agent.come()
        _, secret = agent_enrol(broker=harbour.brokers["a"], actor=None)
        problem(agent.say(), 401, "unknown_credential")
        agent.credential = secret
        problem(agent.say(), 409, "fenced")
        agent.come()
        assert agent.incarnation == 3  # enrolling again fenced the second
        assert Agent.objects.count() == 1


class TestDocument:
    def test_comes_at_once_when_it_was_not_seen(self, agent):
        document = agent.come().poll()
        assert (document.system, document.broker) == ("harbour", "a")
        assert agent.poll(seen="something older") == document

    def test_waits_until_it_changes(self, agent, harbour):
        agent.come().poll()
        waiting = agent.asking()
        with pytest.raises(NotYet):
            waiting.result(0.4)
        start(harbour.system, [rate(None, 90.0)])
        assert waiting.result(SOON_S).json()["gates"] == {
            "tides": {"rate_per_s": 90.0, "burst": 5.0}
        }

    def test_a_neighbour_that_comes_wakes_who_waits(self, agent, loop, harbour):
        agent.come()
        assert {n.address for n in agent.poll().neighbours.values()} == {""}
        waiting = agent.asking()
        time.sleep(0.2)
        enrol(loop, harbour.brokers["b"]).come()
        assert waiting.result(SOON_S).json()["neighbours"] == {
            "b": {"address": "sim://b", "key": ""}
        }

    def test_a_system_that_is_deleted_ends_the_waiting(self, agent, harbour):
        agent.come().poll()
        waiting = agent.asking()
        time.sleep(0.2)
        agent_revoke(agent=agent_row(agent), actor=None)
        system = System.objects.get()
        system_delete(system=system, actor=None, expected_version=system.version)
        problem(waiting.result(SOON_S), 401, "unknown_credential")

    def test_is_204_after_a_long_silence(self, agent, monkeypatch):
        monkeypatch.setattr(views, "POLL_S", 0.3)
        agent.come().poll()
        began = time.monotonic()
        assert agent.asking().result(SOON_S).status_code == 204
        assert time.monotonic() - began > 0.25

    def test_without_news_it_is_noticed_all_the_same(self, agent, harbour, monkeypatch):
        agent.come().poll()
        waiting = agent.asking()
        time.sleep(0.2)
        monkeypatch.setattr("apps.common.events._publish", lambda message: None)
        start(harbour.system, [rate(None, 90.0)])
        assert waiting.result(SOON_S).status_code == 200

    def test_never_goes_back_in_time(self, agent, harbour, monkeypatch):
        """A desk that missed all news still shows what was committed before one asked."""
        monkeypatch.setattr("apps.common.events._publish", lambda message: None)
        monkeypatch.setattr(desk, "RECHECK_S", 60.0)
        agent.come()
        old = agent.poll()
        start(harbour.system, [rate(None, 90.0)])
        assert agent.poll_now().version != old.version

    def test_two_hundred_who_wait_take_no_thread_each(self, agent):
        import threading

        agent.come().poll()
        before = threading.active_count()
        waiting = [agent.asking() for _ in range(200)]
        time.sleep(1.5)
        assert not any(w.done() for w in waiting)
        assert threading.active_count() <= before + 8
        agent.loop.run(_cancel(waiting))

    def test_needs_its_incarnation(self, agent):
        agent.come()
        for text in ("", "x", "-1", "1.5", "²"):
            answer = agent.loop.run(
                agent.loop.client.get(
                    "/agent/v1/document", params={"incarnation": text}, headers=agent.headers
                )
            )
            problem(answer, 400, "invalid")


async def _cancel(futures):
    for future in futures:
        future.cancel()


class TestReport:
    def test_renews_the_lease_and_keeps_what_was_seen(self, agent):
        agent.come()
        lease = agent_row(agent).lease_until
        answer = agent.say(observed=OBSERVED)
        assert answer.json() == {"lease_s": 10.0}
        row = agent_row(agent)
        assert row.lease_until > lease
        assert row.observed["gates"] == OBSERVED["gates"]
        assert row.observed["links"] == ["b"]
        agent.say()
        assert agent_row(agent).observed["links"] == ["b"]

    def test_is_followed_up_where_it_shows_something_new(self, agent, harbour, monkeypatch):
        agent.come()
        execution = start(harbour.system, [rate(None, 50.0)])
        looked_at = []

        def advance(pk):
            looked_at.append(pk)
            return execution_advance(pk)

        monkeypatch.setattr(reports, "execution_advance", advance)
        observed = {**OBSERVED, "hand_overs": {}, "problems": ["The disk is full."]}
        agent.say(observed=observed)
        assert looked_at == [execution.pk]
        while agent.sequence < reports.LOOK_EVERY - 1:
            agent.say(observed=observed)
        assert looked_at == [execution.pk]
        agent.say(observed=observed)  # whoever stored the first may have died before it looked
        assert looked_at == 2 * [execution.pk]
        agent.say(observed={**observed, "problems": []})
        assert looked_at == 3 * [execution.pk]

    def test_keeps_what_was_measured(self, agent):
        agent.come()
        telemetry = {
            "interval_s": 1.0,
            "flows": {"tides": {"offered_per_s": 9.5, "passed_per_s": 8, "unheard_of": 1}},
            "broker": {"connections": 3, "unmanaged": ["x"], "sync_always": True},
            "agent": {"cpu_s": 1.5},
        }
        assert agent.say(telemetry=telemetry).status_code == 200
        payload = Sample.objects.get().payload
        assert payload["flows"] == {"tides": {"offered_per_s": 9.5, "passed_per_s": 8}}
        assert payload["broker"]["sync_always"] is True

    def test_names_what_is_wrong(self, agent):
        agent.come()
        answer = agent.say(observed={"limits": {"gulls": "many"}})
        detail = problem(answer, 400, "invalid")
        assert detail == "observed.limits.gulls: must be a whole number, not 'many'"
        assert answer.json()["errors"][0]["field"] == "observed.limits.gulls"

    def test_what_is_no_object_or_too_large_is_refused(self, agent):
        agent.come()
        much = b" " * (messages.MAX_BODY_BYTES + 1)
        for raw, status, code in (
            *((raw, 400, "invalid") for raw in (b"", b"{", b"[]", b"\xff", b"[" * 100_000)),
            (much, 413, "too_large"),
            (much * 3, 413, "too_large"),
        ):
            answer = agent.loop.run(
                agent.loop.client.post("/agent/v1/report", content=raw, headers=agent.headers)
            )
            problem(answer, status, code)

    def test_other_methods_are_refused(self, agent):
        for method, what in (("GET", "report"), ("GET", "session"), ("POST", "document")):
            answer = agent.loop.run(
                agent.loop.client.request(method, f"/agent/v1/{what}", headers=agent.headers)
            )
            problem(answer, 405, "method_not_allowed")

    def test_a_fault_of_ours_says_so_and_nothing_else(self, agent, monkeypatch):
        agent.come()

        def fail(**_):
            raise ZeroDivisionError("secret inside")

        monkeypatch.setattr(views, "agent_heard", fail)
        answer = agent.say()
        problem(answer, 500, "internal_error")
        assert "secret" not in answer.text


def test_the_same_views_answer_behind_djangos_own_handler(agent):
    """`manage.py runserver` and WSGI have no door."""
    client = Client(enforce_csrf_checks=True)
    answer = client.post(
        "/agent/v1/session",
        json.dumps({"address": "sim://a"}),
        content_type="application/json",
        headers=agent.headers,
    )
    assert answer.status_code == 200
    assert answer.json()["incarnation"] == 1


def test_an_address_that_leads_nowhere_is_a_problem(agent):
    answer = agent.loop.run(agent.loop.client.get("/agent/v1/nothing"))
    problem(answer, 404, "not_found")
