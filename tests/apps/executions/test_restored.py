"""A database that has gone back leads nobody back: it is seen, shown, and adopted by a person."""

import time
from concurrent.futures import TimeoutError as NotYet
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.common.errors import Conflict
from apps.executions.api import agents as views
from apps.executions.models import ActionReport, ExecutionAction, Revision
from apps.executions.services import document_cache as desk
from apps.executions.services.advance import execution_advance
from apps.systems.services import retention_set
from apps.telemetry.models import Agent
from apps.telemetry.services import agent_revoke
from tests.factories import make_user
from tests.factories.fleet import FakeAgent, agent_row, enrol, rate, shift, start


def backup() -> tuple[int, dict[str, tuple[int, int]]]:
    """What a copy of the database would bring back of the numbers."""
    rows = Agent.objects.values_list("broker__name", "incarnation", "served_number")
    return Revision.objects.get().number, {name: (i, n) for name, i, n in rows}


def restore(copy: tuple[int, dict[str, tuple[int, int]]]) -> None:
    number, agents = copy
    with transaction.atomic():
        Revision.objects.update(number=number)
        for name, (incarnation, served) in agents.items():
            Agent.objects.filter(broker__name=name).update(
                incarnation=incarnation, served_number=served, obeyed_number=0
            )


@pytest.fixture
def after_restore(harbour, agents) -> dict[str, FakeAgent]:
    """a has obeyed a gate of which the database then knows nothing."""
    for agent in agents.values():
        agent.obey()
    copy = backup()
    execution = start(harbour.system, [rate(None, 90.0)])
    agents["a"].obey()
    execution.refresh_from_db()
    assert execution.state == "succeeded"
    execution.system.settings.all().delete()
    execution.delete()
    restore(copy)
    return agents


def hears_nothing(agent: FakeAgent) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "POLL_S", 0.5)
        assert agent.asking(seen="").result(20).status_code == 204


def test_documents_of_an_older_database_are_sent_to_nobody(harbour, after_restore):
    a, d = after_restore["a"], after_restore["d"]
    hears_nothing(a)
    assert agent_row(a).is_ahead
    hears_nothing(d)
    with pytest.raises(Conflict, match="have obeyed documents up to number") as refused:
        start(harbour.system, [rate(None, 80.0)])
    assert refused.value.code == "database_restored"


class TestAProcessThatOutlivesTheRestore:
    """It still shows documents of which the database no longer knows."""

    @pytest.fixture(autouse=True)
    def alone(self, monkeypatch) -> None:
        """It sees a change only when an agent comes."""
        monkeypatch.setattr("apps.common.events._publish", lambda message: None)
        monkeypatch.setattr(desk, "RECHECK_S", 60.0)

    def test_sends_them_to_nobody(self, harbour, after_restore):
        a, d = after_restore["a"], after_restore["d"]
        newest = Revision.objects.get().number
        assert d.poll_now().number <= newest < a.obeyed
        hears_nothing(a)
        assert agent_row(a).is_ahead
        hears_nothing(d)

    def test_sends_none_to_who_is_known_to_be_ahead(self, harbour, after_restore):
        """Another process has heard of it."""
        a = after_restore["a"]
        Agent.objects.filter(broker__name="a").update(obeyed_number=a.obeyed)
        Revision.objects.update(number=a.obeyed)
        hears_nothing(a)
        assert agent_row(a).is_ahead


def test_an_agent_that_waits_while_the_database_goes_back_turns_out_ahead(
    harbour, agents, monkeypatch
):
    monkeypatch.setattr("apps.common.events._publish", lambda message: None)
    for agent in agents.values():
        agent.obey()
    copy = backup()
    start(harbour.system, [rate(None, 90.0)])
    a = agents["a"]
    a.obey()
    waiting = a.asking()
    with pytest.raises(NotYet):
        waiting.result(2 * desk.RECHECK_S)
    harbour.system.settings.all().delete()
    restore(copy)
    while not agent_row(a).is_ahead:
        time.sleep(0.05)
    assert not waiting.done()
    waiting.cancel()


def test_it_is_seen_also_when_others_have_come_before(harbour, after_restore):
    """Their sessions have counted the number up beyond the one that a has obeyed."""
    a, d = after_restore["a"], after_restore["d"]
    for _ in range(10):
        d.come()
    assert Revision.objects.get().number > a.obeyed
    a.come()
    hears_nothing(a)
    assert agent_row(a).is_ahead


def test_a_session_is_above_every_one_that_the_agent_remembers(harbour, after_restore):
    a = after_restore["a"]
    a.come()
    a.come()
    newest = a.incarnation
    Agent.objects.filter(broker__name="a").update(incarnation=1)
    answer = a.say(observed=a.observed())
    assert (answer.status_code, answer.json()["code"]) == (409, "session_unknown")
    a.come()
    assert a.incarnation == newest + 1


def test_an_operator_adopts_what_was_restored(harbour, after_restore, client):
    a = after_restore["a"]
    answer = a.post(
        "session", {"address": "sim://a", "incarnation": a.incarnation, "number": a.obeyed}
    )
    assert (
        "The control plane's database has gone back: the agents of a" in answer.json()["restored"]
    )
    a.incarnation = answer.json()["incarnation"]
    url = f"/api/v1/systems/{harbour.system.public_id}"
    client.force_login(make_user("vera", Role.VIEWER))
    shown = client.get(f"{url}/restored").json()
    assert (shown["restored"], shown["allowed_commands"]) == (True, [])
    listed = client.get("/api/v1/agents", {"system": str(harbour.system.public_id)}).json()
    assert [row["database_restored"] for row in listed["results"]] == [True, False, False, False]
    body = {"reason": "The backup of noon is all we have."}
    given = {"content_type": "application/json"}
    assert client.post(f"{url}/adopt-restored", body, **given).status_code == 403
    client.force_login(make_user("olga", Role.OPERATOR))
    assert client.get(f"{url}/restored").json()["allowed_commands"] == ["adopt_restored"]
    assert client.post(f"{url}/adopt-restored", {}, **given).status_code == 400
    waiting = a.asking(seen="")
    time.sleep(0.2)
    answer = client.post(f"{url}/adopt-restored", body, **given)
    assert answer.status_code == 200, answer.content
    assert answer.json()["number"] > a.obeyed
    document = waiting.result(20).json()
    assert document["number"] > a.obeyed
    assert document["gates"] == {}
    entry = AuditEntry.objects.get(action="adopt_restored")
    assert (entry.actor_name, entry.reason) == ("olga", body["reason"])
    settled = {"restored": False, "problem": "", "allowed_commands": []}
    assert client.get(f"{url}/restored").json() == settled
    assert client.post(f"{url}/adopt-restored", body, **given).status_code == 409


def test_a_revoked_agent_holds_up_nobody(harbour, after_restore):
    a, d = after_restore["a"], after_restore["d"]
    hears_nothing(a)
    agent_revoke(agent=agent_row(a), actor=None)
    assert d.poll_now().broker == "d"


def test_nothing_is_decided_while_an_outcome_may_be_missing(harbour, agents):
    """A shift that had been committed, as the database knows no more: aborting it would lead its
    voters back while others have switched."""
    execution = start(harbour.system, [shift("a", "b", "c")])
    for agent in agents.values():
        agent.obey()
    Agent.objects.filter(broker__name="a").update(obeyed_number=10**6)
    late = timezone.now() + timedelta(hours=1)
    assert not execution_advance(execution.pk, now=late)
    execution.refresh_from_db()
    action = ExecutionAction.objects.get(step__execution=execution)
    assert (execution.state, action.state, action.attempt) == ("running", "preparing", 1)
    Agent.objects.update(obeyed_number=0)
    assert execution_advance(execution.pk, now=late)
    action.refresh_from_db()
    assert (action.state, action.attempt) != ("preparing", 1), "its time was over"


def test_what_was_sent_is_remembered_before_it_is_sent(harbour, agents):
    document = agents["a"].poll_now()
    assert agent_row(agents["a"]).served_number == document.number > 0


def test_every_change_of_a_document_has_a_number_of_its_own(harbour, agents):
    numbers = [agents["b"].poll_now().number]

    def risen() -> bool:
        numbers.append(agents["b"].poll_now().number)
        return numbers[-1] > numbers[-2]

    harbour.system.refresh_from_db()
    retention_set(
        system=harbour.system,
        actor=None,
        expected_version=harbour.system.version,
        retention_s=7200,
        confirmed=True,
        reason="",
    )
    assert risen()
    agents["a"].come()
    assert risen()
    agent_revoke(agent=agent_row(agents["a"]), actor=None)
    assert risen()


class TestReports:
    """What may be said of an action, and by whom."""

    def test_a_broker_that_takes_no_part_has_no_say(self, harbour, agents):
        start(harbour.system, [shift("a", "b", "c")])
        order = agents["a"].poll_now().orders[0]
        said = {"action": order.action, "attempt": 1, "phase": "refused"}
        assert agents["d"].say(said).status_code == 200
        assert not ActionReport.objects.exists()

    def test_an_attempt_that_has_not_begun_has_no_votes(self, harbour, agents):
        start(harbour.system, [shift("a", "b", "c")])
        order = agents["a"].poll_now().orders[0]
        for attempt in (1, 2):
            said = {"action": order.action, "attempt": attempt, "phase": "ready"}
            assert agents["a"].say(said).status_code == 200
        assert [report.attempt for report in ActionReport.objects.all()] == [1]


def test_an_agent_that_was_enrolled_later_is_no_sign_of_an_older_database(loop, harbour):
    late = enrol(loop, harbour.brokers["a"]).come()
    late.obey()
    late.come()
    assert not agent_row(late).is_ahead
    assert late.poll_now().broker == "a"
