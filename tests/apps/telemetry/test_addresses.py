"""Addresses for neighbours: fixed by administrators, compared with what agents say."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError
from apps.telemetry.domain.addresses import address_fault
from apps.telemetry.models import Agent
from apps.telemetry.services import Introduction, agent_enrol, agent_session
from tests.factories import make_broker, make_system

pytestmark = pytest.mark.django_db
HERE = "nats://10.1.2.3:4222"


@pytest.fixture
def broker():
    return make_broker(make_system(product="nats"), "quay")


@pytest.fixture
def agent(broker) -> Agent:
    return agent_enrol(broker=broker, actor=None, address=HERE)[0]


def say(agent: Agent, address: str) -> Agent:
    return agent_session(
        agent=agent,
        introduction=Introduction(
            agent_version="1", product="nats", address=address, facts={}, capabilities={}
        ),
    )


@pytest.mark.parametrize(
    "address",
    [HERE, "tls://rot-1.example.org:4222", "nats://[::1]:4222", "sim://rot-1", "sim://a%20b"],
)
def test_an_address_is_scheme_host_and_port(address):
    assert address_fault(address) == ""


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("", "needed"),
        ("10.1.2.3:4222", "begins with"),
        ("http://10.1.2.3:4222", "begins with"),
        ("nats://10.1.2.3", "port"),
        ("nats://10.1.2.3:0", "port"),
        ("nats://10.1.2.3:99999", "no address"),
        ("nats://:4222", "host"),
        ("nats://link:secret@10.1.2.3:4222", "no user"),
        ("nats://link@10.1.2.3:4222", "no user"),
        ("nats://10.1.2.3:4222/path", "leave out"),
        ("nats://10.1.2.3:4222?tls=no", "leave out"),
        ("nats://10.1.2.3:4222,evil:4222", "no address"),
        ("nats://10.1.2.3 :4222", "blanks"),
        ("nats://10.1.2.3:42\n22", "blanks"),
        ("nats://rotterd\u0430m:4222", "special"),
        ("nats://" + "a" * 300 + ":4222", "at most"),
    ],
)
def test_anything_else_is_refused_with_the_reason(agent, api, address, says):
    assert says in address_fault(address)
    body = {"address": address}
    answer = api.patch(f"/api/v1/agents/{agent.public_id}", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "address"
    agent.refresh_from_db()
    assert agent.address == HERE


def test_a_first_enrolment_needs_one_and_later_ones_keep_it(api, broker):
    body = {"broker": str(broker.public_id)}
    refused = api.post("/api/v1/agents", body, format="json")
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "address"
    made = api.post("/api/v1/agents", {**body, "address": HERE}, format="json")
    assert (made.status_code, made.json()["address"]) == (201, HERE)
    again = api.post("/api/v1/agents", body, format="json")
    assert (again.status_code, again.json()["address"]) == (201, HERE)


def test_what_the_agent_says_is_compared_and_changes_nothing(agent, api):
    assert agent.address_problem == ""
    live = say(agent, "nats://attacker:4222")
    assert (live.address, live.said_address) == (HERE, "nats://attacker:4222")
    shown = api.get(f"/api/v1/agents/{agent.public_id}").json()
    assert "nats://attacker:4222" in shown["address_problem"]
    assert HERE in shown["address_problem"]
    assert say(agent, HERE).address_problem == ""
    assert say(agent, "").address_problem == ""


def test_an_agent_without_one_is_shown_as_a_problem(broker):
    agent, _ = agent_enrol(broker=broker, actor=None)
    assert "No address" in agent.address_problem
    assert HERE in say(agent, HERE).address_problem


def test_an_administrator_changes_it_and_the_record_says_so(agent, api):
    body = {"address": "tls://quay:4222", "reason": "moved"}
    answer = api.patch(f"/api/v1/agents/{agent.public_id}", body, format="json")
    assert (answer.status_code, answer.json()["address"]) == (200, "tls://quay:4222")
    (entry,) = AuditEntry.objects.filter(object_id=agent.public_id, action="update")
    assert entry.before == {"address": HERE}
    assert entry.after == {"address": "tls://quay:4222"}
    assert entry.reason == "moved"


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_nobody_else_changes_it(agent, as_role, role):
    body = {"address": "tls://quay:4222"}
    answer = as_role(role).patch(f"/api/v1/agents/{agent.public_id}", body, format="json")
    assert answer.status_code == 403


def test_the_services_check_it_too(broker):
    with pytest.raises(ApplicationError, match="no user"):
        agent_enrol(broker=broker, actor=None, address="nats://link:secret@h:1")
    assert not Agent.objects.exists()


class TestCommand:
    def enrol(self, folder, **options) -> str:
        said = StringIO()
        call_command("enrol_agents", system="harbour", out=folder, stdout=said, **options)
        return said.getvalue()

    def test_needs_an_address_once(self, broker, tmp_path):
        with pytest.raises(CommandError, match="--address quay=nats://"):
            self.enrol(tmp_path)
        assert not Agent.objects.exists()
        self.enrol(tmp_path, address=[f"quay={HERE}"])
        assert Agent.objects.get().address == HERE
        assert "0 agents enrolled" in self.enrol(tmp_path)

    def test_replaces_the_address_and_keeps_the_credential(self, broker, tmp_path):
        self.enrol(tmp_path, address=[f"quay={HERE}"])
        before = (tmp_path / "quay.credential").read_text()
        self.enrol(tmp_path, address=["quay=nats://10.9.9.9:4222"])
        assert Agent.objects.get().address == "nats://10.9.9.9:4222"
        assert (tmp_path / "quay.credential").read_text() == before

    def test_enrols_the_brokers_that_are_named(self, broker, tmp_path):
        make_broker(broker.system, "pier")
        self.enrol(tmp_path, broker=["quay"], address=[f"quay={HERE}"])
        assert [path.name for path in tmp_path.iterdir()] == ["quay.credential"]

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"address": ["quay"]}, "write BROKER=URL"),
            ({"address": ["pier=nats://h:1"]}, 'no broker "pier"; there are: quay'),
            ({"broker": ["pier"]}, 'no broker "pier"'),
            ({"address": ["quay=http://h:1"]}, "begins with"),
        ],
    )
    def test_names_what_is_wrong(self, broker, tmp_path, options, says):
        with pytest.raises(CommandError, match=says):
            self.enrol(tmp_path, **options)
