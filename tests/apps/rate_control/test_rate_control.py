"""The rate controller on a running system: what it asks for, when it lets go."""

from typing import Any

import pytest

from apps.executions.models import Setting
from apps.plans.services import plan_execute
from apps.policies.selectors import terms_for
from apps.policies.services import automatic_resume, automatic_stop
from apps.rate_control import services as rate_control
from apps.rate_control.services import rates_control, system_control
from apps.systems.services import entity_update
from apps.telemetry.models import Sample
from tests.factories.backlogs import waits
from tests.factories.fleet import document_for, make_harbour
from tests.factories.plans import make_policy
from tests.factories.quay import Quay
from tests.factories.runs import make_allocation

pytestmark = pytest.mark.django_db


def on(quay: Quay, **values: Any) -> None:
    make_policy(quay.system, rate_control=True, **values)


def seconds(quay: Quay, count: int) -> None:
    for _ in range(count):
        system_control(quay.system, terms_for(quay.system))


def test_the_quay_is_full(moored):
    for rate in moored.approved().values():
        assert rate == pytest.approx(100, rel=0.01)


def test_without_the_policys_word_nothing_is_controlled(moored):
    moored.passed(t1=100, t2=20)
    assert rates_control() == 0
    assert moored.controlled() == {"t1": None, "t2": None}


def test_spare_capacity_goes_to_the_flow_that_uses_its_rate(moored):
    on(moored)
    moored.passed(t1=100, t2=20)
    seconds(moored, 1)
    assert moored.controlled() == {"t1": None, "t2": None}  # it begins at the approved rates
    seconds(moored, 1)
    (first, still) = moored.controlled().values()
    assert first == pytest.approx(moored.approved()["t1"] * 1.01, rel=1e-3)
    assert still is None
    moored.passed(t1=119, t2=20)
    seconds(moored, 40)
    # Up to the band around what was approved, not further.
    assert moored.controlled()["t1"] == pytest.approx(moored.approved()["t1"] * 1.2)
    # And what was approved stays in force.
    setting = Setting.objects.get(kind="set_flow_rate", target__flow="t1")
    assert setting.in_force == setting.desired
    gate = document_for(moored.agents["b1"]).gates["t1"]
    assert gate.rate_per_s == moored.controlled()["t1"]
    assert gate.burst == setting.in_force["burst"]


def test_a_congested_broker_lowers_its_flows(moored):
    on(moored)
    moored.passed(t1=120, t2=120)
    seconds(moored, 2)
    for flow, approved in moored.approved().items():
        assert moored.controlled()[flow] == pytest.approx(0.96 * approved, rel=1e-2)
    seconds(moored, 20)
    for flow, approved in moored.approved().items():
        assert moored.controlled()[flow] == pytest.approx(0.8 * approved)


def test_fewer_consumers_than_admitted_leave_room(moored):
    on(moored)
    moored.measure(
        flows={f: {"offered_per_s": 120, "passed_per_s": 120} for f in ("t1", "t2")},
        classes={"g-t1": {"admitted": 2}, "g-t2": {"admitted": 2}},
    )
    seconds(moored, 2)
    for flow, approved in moored.approved().items():
        assert moored.controlled()[flow] > approved


def test_a_growing_outbox_congests_its_link_alone(moored):
    on(moored)
    moored.passed(t1=95, t2=95)
    seconds(moored, 1)
    flows = {f: {"offered_per_s": 95, "passed_per_s": 95} for f in ("t1", "t2")}
    Sample.objects.all().delete()
    for backlog in (0, 60, 120):
        moored.measure(flows=flows, links={"b2": {"sent_per_s": 95, "backlog": backlog}})
    seconds(moored, 1)
    assert moored.controlled()["t1"] < moored.approved()["t1"]  # crosses the link
    assert moored.controlled()["t2"] > moored.approved()["t2"]


def test_a_steady_backlog_is_no_congestion(moored):
    on(moored)
    flows = {f: {"offered_per_s": 95, "passed_per_s": 95} for f in ("t1", "t2")}
    for backlog in (5000, 5010, 5015):
        moored.measure(flows=flows, links={"b2": {"sent_per_s": 95, "backlog": backlog}})
    seconds(moored, 2)
    assert moored.controlled()["t1"] > moored.approved()["t1"]


@pytest.fixture
def raised(moored):
    """Under control, and above what was approved."""
    on(moored)
    moored.passed(t1=100, t2=20)
    seconds(moored, 5)
    assert moored.controlled()["t1"] > moored.approved()["t1"]
    return moored


def test_lets_go_when_nobody_measures(raised):
    Sample.objects.all().delete()
    seconds(raised, 1)
    assert raised.controlled() == {"t1": None, "t2": None}


def test_lets_go_when_the_policy_says_so(raised):
    make_policy(raised.system, rate_control=False)
    assert rates_control() == 0
    assert raised.controlled() == {"t1": None, "t2": None}


def test_snaps_while_an_execution_runs_and_after_a_new_allocation(raised):
    topic = Setting.objects.get(kind="set_flow_rate", target__flow="t2")
    assert topic.controlled is None
    broker = raised.brokers["b1"]
    broker.refresh_from_db()
    entity_update(
        instance=broker,
        actor=None,
        expected_version=broker.version,
        values={},
        children={"capacities": [{"resource": "cpu", "capacity": 2000.0}]},
    )
    raised.system.refresh_from_db()
    plan = raised.plan(make_allocation(raised.system))
    plan_execute(plan=plan, actor=raised.reviewer)
    seconds(raised, 1)
    assert raised.controlled() == {"t1": None, "t2": None}
    raised.follow(plan)
    assert raised.approved()["t1"] == pytest.approx(200, rel=0.01)
    raised.passed(t1=200, t2=20)
    seconds(raised, 1)
    assert raised.controlled() == {"t1": None, "t2": None}
    seconds(raised, 1)
    assert raised.controlled()["t1"] == pytest.approx(202, rel=0.01)


def test_a_step_that_a_plan_has_overtaken_is_not_asked_for(raised, monkeypatch):
    """The coordinator stood still between reading what is in force and asking for more."""
    step = rate_control._next

    def overtaken(*args: Any) -> Any:
        values = step(*args)
        row = Setting.objects.get(kind="set_flow_rate", target__flow="t1")
        lower = {**row.in_force, "rate_per_s": 10.0}
        Setting.objects.filter(pk=row.pk).update(in_force=lower, desired=lower, controlled=None)
        return values

    monkeypatch.setattr(rate_control, "_next", overtaken)
    seconds(raised, 1)
    assert document_for(raised.agents["b1"]).gates["t1"].rate_per_s == 10.0


def test_steps_come_once_a_second_however_often_it_is_called(moored):
    on(moored)
    moored.passed(t1=100, t2=20)
    assert [rates_control() for _ in range(3)] == [0, 0, 0]  # the first one snapped
    rate_control._stepped.clear()
    assert [rates_control() for _ in range(3)] == [1, 0, 0]


def test_one_process_of_many_controls(moored, other_process):
    on(moored)
    moored.passed(t1=100, t2=20)
    # The key that earlier releases take: two of them may run side by side during an update.
    other_process.execute("SELECT pg_try_advisory_lock(%s)", [0x77656972_72617465])
    for _ in range(3):
        rate_control._stepped.clear()
        assert rates_control() == 0
    assert moored.controlled() == {"t1": None, "t2": None}


def test_one_broken_system_does_not_stop_the_others(moored, monkeypatch, caplog):
    on(moored)

    def fail(*_: Any) -> bool:
        raise ValueError("no")

    monkeypatch.setattr(rate_control, "system_control", fail)
    assert rates_control() == 0
    assert "the rates of quay cannot be controlled" in caplog.text


class TestFlowStatus:
    def ask(self, api: Any, quay: Quay) -> Any:
        answer = api.get(f"/api/v1/flow-status?system={quay.system.public_id}")
        assert answer.status_code == 200, answer.content
        return answer.json()

    def test_before_anything_is_in_force(self, api, quay):
        body = self.ask(api, quay)
        assert (body["rate_control"], body["plan"], body["plan_name"]) == (False, None, None)
        first = body["flows"][0]
        assert (first["flow"], first["broker"]) == ("t1", "b1")
        unknown = ("in_force_per_s", "controlled_per_s", "promised_per_s", "passed_per_s")
        assert [first[name] for name in unknown] == [None] * 4

    def test_approved_controlled_measured_promised(self, api, raised):
        raised.passed(t1=101, t2=20)
        body = self.ask(api, raised)
        assert (body["rate_control"], body["plan_name"]) == (True, "P-1")
        first, second = body["flows"]
        approved = raised.approved()["t1"]
        assert first["in_force_per_s"] == first["promised_per_s"] == approved
        assert first["controlled_per_s"] == raised.controlled()["t1"] > approved
        assert (first["offered_per_s"], first["passed_per_s"]) == (101, 101)
        assert first["band_low_per_s"] == pytest.approx(0.8 * approved)
        assert first["band_high_per_s"] == pytest.approx(1.2 * approved)
        assert second["controlled_per_s"] is None
        assert second["passed_per_s"] == 20

    def test_what_waits_of_a_reliable_topic_stands_beside_its_rates(self, api):
        harbour = make_harbour()
        path = f"/api/v1/flow-status?system={harbour.system.public_id}"
        assert api.get(path).json()["flows"][0]["waiting"] is None
        waits(harbour.brokers["a"], most_messages=100_000)
        (flow,) = api.get(path).json()["flows"]
        assert flow["waiting"]["slope_per_s"] == pytest.approx(100, rel=1e-3)
        assert flow["waiting"]["full_in_s"] == pytest.approx(887, rel=1e-2)
        assert flow["waiting"]["growth"] == "alarm"

    def test_asks_for_a_system(self, api):
        answer = api.get("/api/v1/flow-status")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "system"
        unknown = "/api/v1/flow-status?system=00000000-0000-0000-0000-000000000000"
        assert api.get(unknown).status_code == 404

    def test_queries_do_not_grow_with_flows(self, api, moored, django_assert_max_num_queries):
        with django_assert_max_num_queries(16):
            self.ask(api, moored)


def test_rates_hold_still_while_a_window_forbids_changes(moored):
    on(moored)
    moored.passed(t1=100, t2=20)
    seconds(moored, 3)
    before = moored.controlled()
    assert before["t1"] is not None
    always = {"effect": "deny", "cron": "* * * * *", "duration_s": 3600}
    make_policy(moored.system, windows=[always])
    moored.passed(t1=119, t2=20)
    seconds(moored, 3)
    assert moored.controlled() == before
    # Letting go of control would move rates, too: it waits for the window.
    make_policy(moored.system, rate_control=False)
    seconds(moored, 1)
    assert moored.controlled() == before
    make_policy(moored.system, windows=[])
    seconds(moored, 1)
    assert moored.controlled() == {"t1": None, "t2": None}


def test_rates_stay_where_they_are_while_everything_automatic_is_stopped(moored):
    on(moored)
    moored.passed(t1=120, t2=120)
    seconds(moored, 3)
    held = moored.controlled()
    assert held != {"t1": None, "t2": None}
    stop = automatic_stop(actor=moored.reviewer, reason="Load test")
    rate_control._stepped.clear()
    assert rates_control() == 0
    assert moored.controlled() == held
    automatic_resume(stop=stop, actor=moored.reviewer)
    rate_control._stepped.clear()
    assert rates_control() == 1
