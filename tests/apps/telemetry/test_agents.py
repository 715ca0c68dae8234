"""Agents: credentials, leases, what people are told of them."""

import stat
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.common.errors import Conflict
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Agent, Sample
from apps.telemetry.selectors import agents_of, latest_samples, series
from apps.telemetry.services import (
    Fenced,
    Introduction,
    agent_by_secret,
    agent_enrol,
    agent_report,
    agent_revoke,
    agent_session,
    agents_lapse,
    samples_prune,
    secret_digest,
)
from tests.at_once import at_once
from tests.factories import make_broker, make_system

pytestmark = pytest.mark.django_db
HERE = Introduction(
    agent_version="1", product="nats", address="nats://127.0.0.1:4222", facts={}, capabilities={}
)
MEASURED = {
    "interval_s": 1.0,
    "flows": {"tides": {"offered_per_s": 9.0, "passed_per_s": 8.0}},
    "classes": {},
    "links": {},
    "broker": {"connections": 3, "unmanaged": [], "sync_always": None},
    "agent": {},
}


@pytest.fixture
def broker():
    return make_broker(make_system(), "quay")


@pytest.fixture
def agent(broker) -> Agent:
    return agent_enrol(broker=broker, actor=None)[0]


@pytest.fixture
def live(agent) -> Agent:
    return agent_session(agent=agent, introduction=HERE)


def report(agent: Agent, **values) -> bool:
    now = Agent.objects.select_related("system", "broker").get(pk=agent.pk)
    incarnation = values.pop("incarnation", agent.incarnation)
    said = {"sequence": None, "observed": None, "telemetry": None, **values}
    with transaction.atomic():
        return agent_report(agent=now, incarnation=incarnation, **said)


class TestCredential:
    def test_only_its_hash_is_kept(self, broker):
        agent, secret = agent_enrol(broker=broker, actor=None)
        assert len(secret) > 40
        assert agent.digest == secret_digest(secret)
        assert agent_by_secret(secret) == agent
        assert agent_by_secret(secret + "x") is None
        assert agent_by_secret("") is None

    def test_a_new_one_ends_the_old_one(self, broker):
        _, old = agent_enrol(broker=broker, actor=None)
        agent, new = agent_enrol(broker=broker, actor=None)
        assert agent_by_secret(old) is None
        assert agent_by_secret(new) == agent
        assert Agent.objects.count() == 1

    def test_revoked_is_over_and_enrolling_brings_it_back(self, live, admin):
        agent_revoke(agent=live, actor=admin)
        agent_revoke(agent=live, actor=admin)
        live.refresh_from_db()
        assert live.state() == "revoked"
        assert list(agents_of(live.system)) == []
        assert AuditEntry.objects.filter(object_id=live.public_id, action="revoke").count() == 1
        again, secret = agent_enrol(broker=live.broker, actor=admin)
        assert again.state() == "silent"
        assert agent_by_secret(secret) is not None

    def test_the_record_never_holds_it(self, broker, admin):
        agent, secret = agent_enrol(broker=broker, actor=admin)
        (entry,) = AuditEntry.objects.filter(object_id=agent.public_id)
        assert (entry.action, entry.actor_name) == ("enrol", admin.display_name)
        assert entry.after == {"prefix": secret[:12], "address": "sim://quay"}


class TestSession:
    def test_states_follow_the_lease(self, agent):
        assert agent.state() == "never"
        opened = agent_session(agent=agent, introduction=HERE)
        assert (opened.incarnation, opened.state()) == (1, "live")
        assert opened.state(timezone.now() + timedelta(seconds=11)) == "silent"

    def test_a_report_renews_the_lease(self, live):
        Agent.objects.update(lease_until=timezone.now())
        assert report(live, observed={"links": []}) is True
        assert report(live, observed={"links": []}) is False
        assert report(live, observed={"links": ["b"]}) is True
        live.refresh_from_db()
        assert live.state() == "live"

    def test_older_and_newer_incarnations_are_fenced(self, live):
        for incarnation, code in ((0, "fenced"), (2, "session_unknown"), (7, "session_unknown")):
            with pytest.raises(Conflict) as refused:
                report(live, incarnation=incarnation)
            assert (refused.value.status, refused.value.code) == (409, code)

    def test_a_revoked_agent_reports_nothing(self, live):
        agent_revoke(agent=live, actor=None)
        with pytest.raises(Fenced):
            report(live)
        assert not Sample.objects.exists()


class TestNews:
    """State changes are told once, a lease that ran out when somebody looks."""

    @pytest.fixture(autouse=True)
    def _told(self, monkeypatch):
        self.told: list[tuple[str, str]] = []
        monkeypatch.setattr(
            "apps.telemetry.services.agents.publish",
            lambda kind, **data: self.told.append((kind, data["state"])),
        )

    def test_of_each_change_once(self, agent):
        live = agent_session(agent=agent, introduction=HERE)
        report(live)
        report(live)
        assert self.told == [("agent", "live")]
        Agent.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert (agents_lapse(), agents_lapse()) == (1, 0)
        report(live)
        agent_revoke(agent=live, actor=None)
        assert [state for _, state in self.told] == ["live", "silent", "live", "revoked"]


def test_measurements_are_told_at_most_once_a_second(live, monkeypatch):
    told = []
    monkeypatch.setattr("apps.common.events.publish", lambda kind, **data: told.append(kind))
    for _ in range(5):
        report(live, telemetry=MEASURED)
    assert Sample.objects.count() == 5
    assert told == ["telemetry"]


def test_samples(live):
    for _ in range(3):
        report(live, telemetry=MEASURED)
    old = timezone.now() - timedelta(minutes=31)
    Sample.objects.create(broker=live.broker, at=old, payload=MEASURED)
    (newest,) = latest_samples(live.system)
    assert newest == Sample.objects.order_by("-at").first()
    assert len(list(series(live.broker, minutes=30))) == 3
    assert samples_prune() == 1
    assert Sample.objects.count() == 3
    Sample.objects.update(at=timezone.now() - timedelta(seconds=20))
    assert latest_samples(live.system) == []


class TestApi:
    def test_enrols_and_shows_the_credential_once(self, api, broker):
        answer = api.post("/api/v1/agents", {"broker": str(broker.public_id)}, format="json")
        assert answer.status_code == 201
        body = answer.json()
        assert agent_by_secret(body["credential"]) is not None
        assert (body["state"], body["broker_name"]) == ("never", "quay")
        shown = api.get(answer["Location"]).json()
        assert "credential" not in shown
        assert shown["allowed_commands"] == ["enrol", "edit", "revoke"]

    def test_revokes(self, api, live):
        address = f"/api/v1/agents/{live.public_id}"
        assert api.delete(address).status_code == 204
        assert api.get(address).json()["state"] == "revoked"

    def test_shows_what_the_agent_sees(self, api, live):
        report(
            live,
            observed={
                "version": "v",
                "gates": {"tides": {"rate_per_s": 9.0, "burst": 2.0}},
                "limits": {"gulls": 3},
                "admitted": {"gulls": 2},
                "waiting": {"gulls": 1},
                "links": ["b"],
                "problems": ["the stream is full"],
            },
        )
        (body,) = api.get(f"/api/v1/agents?system={live.system.public_id}").json()["results"]
        assert body["state"] == "live"
        assert body["observed"]["gates"]["tides"]["rate_per_s"] == 9.0
        assert body["observed"]["problems"] == ["the stream is full"]
        assert body["address"] == "sim://quay"
        assert body["said_address"] == "nats://127.0.0.1:4222"

    @pytest.mark.parametrize("role", [r for r in Role if r != Role.ADMIN])
    def test_only_admins_enrol_and_revoke(self, as_role, agent, role):
        client = as_role(role)
        body = {"broker": str(agent.broker.public_id)}
        assert client.post("/api/v1/agents", body, format="json").status_code == 403
        assert client.delete(f"/api/v1/agents/{agent.public_id}").status_code == 403
        assert client.get(f"/api/v1/agents/{agent.public_id}").json()["allowed_commands"] == []

    def test_an_unknown_broker_is_named(self, api):
        answer = api.post("/api/v1/agents", {"broker": "nowhere"}, format="json")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "broker"

    def test_measurements_now_and_over_time(self, api, live):
        for _ in range(2):
            report(live, telemetry=MEASURED)
        (row,) = api.get(f"/api/v1/telemetry?system={live.system.public_id}").json()
        assert (row["broker"], row["broker_name"]) == (str(live.broker.public_id), "quay")
        assert row["flows"] == MEASURED["flows"]
        assert row["broker_load"]["connections"] == 3
        body = api.get(f"/api/v1/telemetry/series?broker={live.broker.public_id}").json()
        assert (body["broker_name"], body["minutes"]) == ("quay", 5.0)
        assert [p["flows"] for p in body["points"]] == [MEASURED["flows"]] * 2

    def test_gates_that_contradict_the_broker_take_the_samples_of_their_interval_along(self, live):
        def measured(entered: float, ago_s: float):
            load = {"entered_per_s": entered, "entered_most_per_s": 50.0, "entered_ago_s": ago_s}
            return telemetry_checked({**MEASURED, "broker": load})

        sound = {"entered_per_s": 60.0}
        for _ in range(3):
            report(live, telemetry=telemetry_checked({**MEASURED, "broker": sound}))
        now = timezone.now()
        for back_s, sample in zip((3, 2, 1), Sample.objects.order_by("id"), strict=True):
            Sample.objects.filter(pk=sample.pk).update(at=now - timedelta(seconds=back_s))
        report(live, telemetry=measured(900.0, 2.0))
        report(live, telemetry=measured(80.0, 2.0))
        suspects = [
            payload.get("suspect", "")
            for payload in Sample.objects.order_by("at", "id").values_list("payload", flat=True)
        ]
        why = "Its gates let 900 messages a second in, and 50 came to the broker in all."
        # The report two seconds ago began the interval and ended the one before.
        assert suspects == ["", "", why, why, ""]

    def test_what_contradicts_itself_is_flagged_and_not_shown(self, api, live):
        def said(delivered: float):
            gold = {"admitted": 5, "delivered_per_s": delivered}
            broker = {"out_msgs_per_s": 136.0}
            return telemetry_checked({**MEASURED, "classes": {"gold": gold}, "broker": broker})

        report(live, telemetry=said(166_724.0))
        (row,) = api.get(f"/api/v1/telemetry?system={live.system.public_id}").json()
        assert row["suspect"].startswith("Its classes were given 166,724 messages a second")
        assert row["classes"] == {"gold": {"admitted": 5}}
        report(live, telemetry=said(130.0))
        report(live, telemetry=said(166_724.0))
        (row,) = api.get(f"/api/v1/telemetry?system={live.system.public_id}").json()
        assert (row["suspect"], row["classes"]["gold"]["delivered_per_s"]) == ("", 130.0)
        body = api.get(f"/api/v1/telemetry/series?broker={live.broker.public_id}").json()
        assert [bool(p["suspect"]) for p in body["points"]] == [True, False, True]
        rates = [p["classes"]["gold"].get("delivered_per_s") for p in body["points"]]
        assert rates == [None, 130.0, None]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("telemetry", "system"),
            ("telemetry?system=x", "system"),
            ("telemetry/series", "broker"),
        ],
    )
    def test_what_is_missing_is_named(self, api, query, field):
        answer = api.get(f"/api/v1/{query}")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == field

    def test_series_reach_half_an_hour_back(self, api, broker):
        address = f"/api/v1/telemetry/series?broker={broker.public_id}&minutes="
        assert api.get(address + "30").status_code == 200
        for minutes in ("31", "0", "nan", "x"):
            assert api.get(address + minutes).status_code == 400, minutes


class TestEnrolAgents:
    def test_writes_one_private_file_per_broker_and_keeps_those_that_work(self, broker, tmp_path):
        make_broker(broker.system, "a/b c")
        folder = tmp_path / "credentials"
        call_command("enrol_agents", system="harbour", out=folder, stdout=StringIO())
        files = {path.name: path.read_text() for path in folder.iterdir()}
        assert sorted(files) == ["a%2Fb%20c.credential", "quay.credential"]
        assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in folder.iterdir())
        agent = agent_by_secret(files["quay.credential"].strip())
        assert agent is not None
        assert agent.broker == broker

        agent_enrol(broker=broker, actor=None)
        told = StringIO()
        call_command("enrol_agents", system="harbour", out=folder, stdout=told)
        assert "1 agent enrolled" in told.getvalue()
        again = {path.name: path.read_text() for path in folder.iterdir()}
        assert again["a%2Fb%20c.credential"] == files["a%2Fb%20c.credential"]
        assert again["quay.credential"] != files["quay.credential"]
        assert agent_by_secret(again["quay.credential"].strip()) is not None

    def test_an_unknown_system_is_named_with_those_there_are(self, broker, tmp_path):
        with pytest.raises(CommandError, match='no system "port"; there are: harbour'):
            call_command("enrol_agents", system="port", out=tmp_path)


class TestDatabase:
    def test_refuses_what_must_never_be(self, agent):
        for values in (
            {"digest": "short"},
            {"told_state": "asleep"},
            {"lease_until": timezone.now()},
        ):
            with pytest.raises(IntegrityError), transaction.atomic():
                Agent.objects.update(**values)

    def test_an_agent_stays_in_its_system(self, agent):
        other = make_broker(make_system("elsewhere"))
        with pytest.raises(IntegrityError, match="another system"), transaction.atomic():
            Agent.objects.update(broker=other)


@pytest.mark.django_db(transaction=True)
def test_sessions_that_open_at_once_get_different_numbers():
    agent, _ = agent_enrol(broker=make_broker(make_system()), actor=None)

    def come() -> int:
        return agent_session(agent=agent, introduction=HERE).incarnation

    assert sorted(at_once(*[come] * 4)) == [1, 2, 3, 4]


def test_agents_are_found_by_the_state_that_they_show(api, live, agent):
    names = ("never", "silent", "revoked")
    never, silent, revoked = (
        agent_enrol(broker=make_broker(agent.system, name), actor=None)[0] for name in names
    )
    agent_session(agent=silent, introduction=HERE)
    Agent.objects.filter(pk=silent.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    agent_revoke(agent=revoked, actor=None)
    rows = api.get("/api/v1/agents").json()["results"]
    assert {row["state"] for row in rows} == {"live", *names}, never
    for state in ("never", "live", "silent", "revoked"):
        listed = api.get("/api/v1/agents", {"state": state}).json()["results"]
        assert listed == [row for row in rows if row["state"] == state]
    both = api.get("/api/v1/agents?state=live&state=silent").json()["count"]
    assert both == sum(row["state"] in ("live", "silent") for row in rows)
