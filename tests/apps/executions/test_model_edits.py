"""What agents are told comes from executions: an edit of the model changes none of it."""

from dataclasses import replace

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.catalog.models import ConsumerClass, Topic
from apps.common.errors import Conflict
from apps.executions.models import Setting
from apps.executions.services.adopt_model import model_adopt
from apps.executions.services.documents import document_of, facts_of
from apps.plans.models import Plan
from apps.systems.models import System
from apps.systems.services import entity_delete, entity_update, system_delete, system_update
from apps.telemetry.services import agent_enrol, agent_revoke
from tests.factories import make_broker, make_class, make_topic, make_user
from tests.factories.fleet import Harbour, make_harbour, must, population, rate, start
from tests.factories.plans import agents_come, agents_look, make_plan, submitted
from weir.coordination.wire import Document

pytestmark = pytest.mark.django_db


@pytest.fixture
def ines() -> User:
    return make_user("ines", Role.EDITOR)


@pytest.fixture
def harbour() -> Harbour:
    """With agents, a gate at a and a limit at c, all by executions."""
    harbour = make_harbour()
    agents = agents_come(harbour)
    start(harbour.system, [rate(None, 90.0), population(None, 4)])
    agents_look(harbour, agents)
    return harbour


def documents(harbour: Harbour) -> dict[str, Document]:
    """What each agent is told now; the number, which may rise without news, left out."""
    facts = must(facts_of(harbour.system.pk))[1]
    return {name: replace(document_of(facts, name), number=0) for name in harbour.brokers}


def edit(row, **values):
    fresh = type(row).objects.get(pk=row.pk)
    return entity_update(instance=fresh, actor=None, expected_version=fresh.version, values=values)


def drop(row) -> None:
    fresh = type(row).objects.get(pk=row.pk)
    entity_delete(instance=fresh, actor=None, expected_version=fresh.version)


def refused(code: str, work, *args, **values) -> Conflict:
    with pytest.raises(Conflict) as caught:
        work(*args, **values)
    assert caught.value.code == code
    return caught.value


class TestAgentsHearNothingOf:
    def test_another_source_or_promise_of_a_topic(self, harbour):
        before = documents(harbour)
        assert before["a"].gates
        edit(harbour.topic, source=harbour.brokers["b"], delivery="best_effort")
        assert documents(harbour) == before

    def test_a_deleted_class(self, harbour):
        before = documents(harbour)
        assert before["c"].classes["gulls"].limit == 4
        drop(harbour.consumers)
        assert documents(harbour) == before

    def test_a_deleted_topic(self, harbour):
        before = documents(harbour)
        drop(harbour.consumers)
        drop(harbour.topic)
        assert documents(harbour) == before

    def test_a_class_that_moves(self, harbour):
        before = documents(harbour)
        edit(harbour.consumers, broker=harbour.brokers["d"])
        edit(harbour.consumers, topic=make_topic(harbour.system, "ebb"))
        assert documents(harbour) == before

    def test_new_topics_and_classes(self, harbour):
        before = documents(harbour)
        topic = make_topic(harbour.system, "ebb", source=harbour.brokers["a"])
        make_class(harbour.system, topic, harbour.brokers["c"], "terns")
        assert documents(harbour) == before


class TestNamesInForce:
    @pytest.mark.parametrize(
        ("row", "what"),
        [
            ("topic", "tides is carried"),
            ("consumers", "gulls is served at c"),
        ],
    )
    def test_stay(self, harbour, row, what):
        refusal = refused("in_force", edit, getattr(harbour, row), name="currents")
        assert what in refusal.message
        assert "carry out its plan" in refusal.message
        assert [error.field for error in refusal.errors] == ["name"]

    def test_of_a_broker_stays_while_it_has_an_agent(self, harbour):
        refusal = refused("in_force", edit, harbour.brokers["b"], name="quay")
        assert "an agent is enrolled for it" in refusal.message

    def test_of_a_broker_stays_while_something_is_enforced_there(self, harbour):
        agent_revoke(agent=harbour.system.agents.get(broker__name="a"), actor=None)
        refusal = refused("in_force", edit, harbour.brokers["a"], name="quay")
        assert "tides is limited at a" in refusal.message

    def test_of_a_broker_stays_while_its_neighbours_know_it(self, harbour):
        agent_revoke(agent=harbour.system.agents.get(broker__name="d"), actor=None)
        refusal = refused("in_force", edit, harbour.brokers["d"], name="quay")
        assert "the agents of its neighbours know it by this name" in refusal.message

    def test_of_a_system_stays_while_agents_are_enrolled(self, harbour):
        def rename(name: str) -> System:
            system = System.objects.get()
            return system_update(
                system=system, actor=None, expected_version=system.version, values={"name": name}
            )

        refusal = refused("agents_are_enrolled", rename, "bay")
        assert "4 agents are enrolled and know harbour by this name" in refusal.message
        for agent in harbour.system.agents.all():
            agent_revoke(agent=agent, actor=None)
        assert rename("bay").name == "bay"

    def test_may_change_where_no_agent_is_enrolled(self):
        harbour = make_harbour()
        assert edit(harbour.topic, name="currents").name == "currents"
        assert edit(harbour.brokers["a"], name="quay").name == "quay"

    def test_of_what_is_not_in_force_may_change(self, harbour):
        topic = make_topic(harbour.system, "ebb")
        assert edit(topic, name="flood").name == "flood"
        assert edit(harbour.topic, description="salt").description == "salt"


class TestDeleting:
    def test_a_broker_with_an_agent_is_refused(self, harbour):
        broker = make_broker(harbour.system, "e")
        agent, _ = agent_enrol(broker=broker, actor=None)
        assert "an agent is enrolled" in refused("in_force", drop, broker).message
        agent_revoke(agent=agent, actor=None)
        drop(broker)

    def test_a_system_with_agents_is_refused_and_its_history_stays(self, harbour, ines):
        plan = make_plan(harbour.system, ines, [rate(90.0, 80.0)])

        def delete() -> None:
            system = System.objects.get()
            system_delete(system=system, actor=ines, expected_version=system.version)

        assert "4 agents are enrolled" in refused("agents_are_enrolled", delete).message
        for agent in harbour.system.agents.all():
            agent_revoke(agent=agent, actor=None)
        submitted(plan, ines)
        refusal = refused("plans_under_way", delete)
        assert f"{plan} of harbour is pending review" in refusal.message
        assert Plan.objects.exists()

    def test_what_was_executed_stays_on_record(self, harbour):
        for agent in harbour.system.agents.all():
            agent_revoke(agent=agent, actor=None)
        system = System.objects.get()
        system_delete(system=system, actor=None, expected_version=system.version)
        entry = AuditEntry.objects.get(action="delete", object_kind="system")
        assert entry.before["plans"] == []


class TestNothingChanged:
    def test_an_edit_that_says_what_is_there_leaves_no_trace(self, harbour, ines):
        plan = make_plan(harbour.system, ines, [rate(90.0, 80.0)])
        audit = AuditEntry.objects.count()
        version = Topic.objects.get().version
        row = edit(harbour.topic)
        same = edit(harbour.topic, description=row.description, delivery=row.delivery)
        assert row.version == same.version == version
        assert AuditEntry.objects.count() == audit
        plan.system.refresh_from_db()
        assert plan.system.model_version == plan.model_version

    def test_the_same_lists_leave_no_trace(self, harbour):
        costs = [{"resource": "cpu", "cost": 2.0}]
        before = ConsumerClass.objects.get()
        after = entity_update(
            instance=before,
            actor=None,
            expected_version=before.version,
            values={},
            children={"costs": costs},
        )
        assert after.version == before.version
        changed = entity_update(
            instance=before,
            actor=None,
            expected_version=before.version,
            values={},
            children={"costs": [{"resource": "cpu", "cost": 3.0}]},
        )
        assert changed.version == before.version + 1

    def test_of_a_system(self, harbour):
        system = System.objects.get()
        same = system_update(
            system=system,
            actor=None,
            expected_version=system.version,
            values={"description": system.description},
        )
        assert (same.version, same.model_version) == (system.version, system.model_version)


class TestAdoption:
    def test_the_model_is_in_force_before_there_is_an_agent(self):
        harbour = make_harbour()
        before = documents(harbour)
        Setting.objects.all().delete()
        assert model_adopt(system=harbour.system, actor=None, reason="loaded") == 2
        assert documents(harbour) == before
        entry = AuditEntry.objects.get(action="adopt")
        assert (entry.after, entry.reason) == ({"settings": 2}, "loaded")

    def test_is_refused_once_there_is_an_agent(self):
        harbour = make_harbour()
        Setting.objects.all().delete()
        agent_enrol(broker=harbour.brokers["a"], actor=None)
        refused(
            "agents_are_enrolled", model_adopt, system=harbour.system, actor=None, reason="again"
        )

    def test_is_refused_where_something_is_in_force(self):
        harbour = make_harbour()
        refused("already_in_force", model_adopt, system=harbour.system, actor=None, reason="again")


def test_a_revoked_agent_speaks_for_no_broker(harbour):
    assert "a" in must(facts_of(harbour.system.pk))[1].sessions
    agent_revoke(agent=harbour.system.agents.get(broker__name="a"), actor=None)
    assert "a" not in must(facts_of(harbour.system.pk))[1].sessions
