"""Triggers: what they see, when they fire, and that they fire no more often than they may."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.catalog.models import ConsumerClass, Slo
from apps.pipeline.models import JudgedMinute, ObjectiveTerm
from apps.recomputation.models import Trigger
from apps.recomputation.selectors.burning import alerting
from apps.recomputation.selectors.drift import load_drift
from apps.recomputation.selectors.slo import slo_readings
from apps.recomputation.selectors.watched import look
from apps.recomputation.services import recomputation_tick, triggers_evaluate
from apps.systems.services import entity_create, entity_update
from apps.telemetry.models import Sample

pytestmark = pytest.mark.django_db
PROMISE = ("quantity", "target", "objective", "window_s")


def seen(trigger: Trigger) -> Trigger:
    trigger.refresh_from_db()
    return trigger


def test_a_capacity_that_changed_fires_once_and_the_new_run_settles_it(clockwork):
    trigger = clockwork.trigger("capacity_change", threshold=0.1)
    recomputation_tick()
    assert seen(trigger).value == 0.0
    assert clockwork.firings() == []
    clockwork.change_capacity(800.0)
    clockwork.again()
    recomputation_tick()
    (firing,) = clockwork.firings()
    assert firing.value == pytest.approx(0.2)
    assert firing.threshold == 0.1
    assert "cpu of b1 changed by 20.0 %" in firing.why
    assert firing.run.asked_by.display_name == "Trigger"
    for _ in range(2):
        clockwork.again()
        recomputation_tick()
    # The run on its way has seen the new model: no further firing.
    assert len(clockwork.firings()) == 1
    assert seen(trigger).value == 0.0


def test_a_change_below_the_threshold_does_not_fire(clockwork):
    trigger = clockwork.trigger("capacity_change", threshold=0.25)
    clockwork.change_capacity(800.0)
    assert triggers_evaluate() == 0
    assert seen(trigger).value == pytest.approx(0.2)
    assert seen(trigger).above_since is None


def test_each_edit_of_the_model_starts_the_wait_again(clockwork):
    trigger = clockwork.trigger("capacity_change", for_s=30.0)
    clockwork.change_capacity(800.0)
    assert triggers_evaluate() == 0
    Trigger.objects.update(above_since=timezone.now() - timedelta(seconds=29), looked_at=None)
    clockwork.change_capacity(700.0)
    assert triggers_evaluate() == 0
    assert timezone.now() - seen(trigger).above_since < timedelta(seconds=5)
    Trigger.objects.update(above_since=timezone.now() - timedelta(seconds=31), looked_at=None)
    assert triggers_evaluate() == 1


def test_cooldown_keeps_a_lasting_condition_from_firing_again(clockwork):
    trigger = clockwork.trigger("load_drift", threshold=0.2, cooldown_s=600.0)
    clockwork.quay.passed(t1=10.0, t2=10.0)
    clockwork.quay.measure("b2")
    assert triggers_evaluate() == 1
    clockwork.again()
    assert triggers_evaluate() == 0
    Trigger.objects.update(fired_at=timezone.now() - timedelta(seconds=601), looked_at=None)
    assert triggers_evaluate() == 1
    assert len(clockwork.firings()) == 2
    assert seen(trigger).value > 0.2


def test_a_paused_trigger_does_not_look(clockwork):
    trigger = clockwork.trigger("capacity_change", enabled=False)
    clockwork.change_capacity(800.0)
    assert triggers_evaluate() == 0
    assert seen(trigger).looked_at is None


def test_population_change_counts_consumers_that_came_or_went(clockwork):
    row = ConsumerClass.objects.get(name="g-t1")
    entity_update(instance=row, actor=None, expected_version=1, values={"population_max": 6})
    clockwork.system.refresh_from_db()
    reading = look("population_change", clockwork.system)
    assert reading.value == pytest.approx(2 / 8)
    assert look("capacity_change", clockwork.system).value == 0.0


def test_nothing_can_be_said_before_anything_was_computed(quay):
    assert look("capacity_change", quay.system).value is None
    assert look("load_drift", quay.system).value is None
    assert look("slo_breach", quay.system).value is None


def test_load_as_predicted_has_no_drift(clockwork):
    quay = clockwork.quay
    rates = quay.approved()
    admitted = {row.name: {"admitted": 4} for row in ConsumerClass.objects.all()}
    flows = {name: {"offered_per_s": rate, "passed_per_s": rate} for name, rate in rates.items()}
    quay.measure("b1", flows=flows, classes=admitted)
    quay.measure("b2")
    assert load_drift(quay.system).value == pytest.approx(0.0, abs=1e-9)


def test_drift_is_the_largest_relative_distance_of_a_load(clockwork):
    quay = clockwork.quay
    rates = quay.approved()
    admitted = {row.name: {"admitted": 4} for row in ConsumerClass.objects.all()}
    flows = {name: {"passed_per_s": rate / 2} for name, rate in rates.items()}
    quay.measure("b1", flows=flows, classes=admitted)
    quay.measure("b2")
    drift = load_drift(quay.system)
    assert drift.value == pytest.approx(0.5)
    assert "by what is in force" in drift.detail


def test_drift_says_nothing_while_a_broker_is_silent(clockwork):
    assert load_drift(clockwork.system).value is None
    assert "measures nothing now" in load_drift(clockwork.system).detail


def samples(quay, count, **row):
    now = timezone.now()
    payload = {"interval_s": 1.0, "flows": {"t1": row}, "classes": {}, "links": {}}
    Sample.objects.bulk_create(
        Sample(broker=quay.brokers["b1"], at=now - timedelta(seconds=s + 0.5), payload=payload)
        for s in range(count)
    )


def slo(clockwork, quantity, target):
    from apps.catalog.models import Topic

    return entity_create(
        model=Slo,
        system=clockwork.system,
        actor=None,
        values={
            "name": f"slo-{quantity}",
            "topic": Topic.objects.get(name="t1"),
            "quantity": quantity,
            "target": target,
            "objective": 0.9,
            "window_s": 60,
        },
    )


def test_an_slo_on_the_rate_is_missed_when_messages_are_shed(clockwork):
    slo(clockwork, "rate_per_s", 100.0)
    samples(clockwork.quay, 30, offered_per_s=120.0, passed_per_s=60.0, shed_per_s=60.0)
    (reading,) = slo_readings(clockwork.system)
    assert reading.missed
    assert "held in 0.0 % of the last 30 s" in reading.sentence
    trigger = clockwork.trigger("slo_breach", threshold=0.0)
    assert triggers_evaluate() == 1
    assert seen(trigger).value == 1.0


def test_a_publisher_that_sends_less_than_promised_misses_no_slo(clockwork):
    slo(clockwork, "rate_per_s", 100.0)
    samples(clockwork.quay, 30, offered_per_s=20.0, passed_per_s=20.0, shed_per_s=0.0)
    assert not slo_readings(clockwork.system)[0].missed


def test_loss_is_what_the_gate_sheds(clockwork):
    slo(clockwork, "loss_ratio", 0.1)
    samples(clockwork.quay, 30, offered_per_s=100.0, passed_per_s=80.0, shed_per_s=20.0)
    assert slo_readings(clockwork.system)[0].missed


def judged_minutes(slo, *values, evidence="delivery"):
    """Minutes up to now that were judged so, the newest first."""
    now_s = int(timezone.now().timestamp()) // 60 * 60
    ObjectiveTerm.objects.create(
        slo=slo, since_s=0, topic="t1", **{name: getattr(slo, name) for name in PROMISE}
    )
    for back, value in enumerate(values, 1):
        JudgedMinute.objects.create(
            slo=slo,
            since_s=now_s - 60 * back,
            value=value,
            has_held=value <= slo.target,
            has_too_few=False,
            messages=1000,
            evidence=evidence,
        )


def test_delays_are_judged_by_minutes(clockwork):
    promised = slo(clockwork, "delay_p99_s", 0.1)
    judged_minutes(promised, 0.25, evidence="gate")
    (reading,) = slo_readings(clockwork.system)
    assert reading.missed
    assert "held in 0.0 % of the last 60 s" in reading.sentence
    assert "latest 250 ms at the gate, allowed 100)" in reading.sentence
    assert look("slo_breach", clockwork.system).value == 1.0
    # Minutes of what it promised before say nothing.
    Slo.objects.filter(pk=promised.pk).update(target=0.05)
    assert slo_readings(clockwork.system)[0].share_held is None


def test_few_minutes_of_a_long_window_say_nothing_of_delays(clockwork):
    promised = slo(clockwork, "delay_p99_s", 0.1)
    Slo.objects.filter(pk=promised.pk).update(window_s=86_400)
    promised.refresh_from_db()
    judged_minutes(promised, 0.2, 0.2)
    assert slo_readings(clockwork.system)[0].share_held is None
    ObjectiveTerm.objects.all().delete()
    JudgedMinute.objects.all().delete()
    judged_minutes(promised, 0.2, 0.05, 0.05, 0.05, 0.2, 0.2)
    (reading,) = slo_readings(clockwork.system)
    assert reading.share_held == 0.6
    assert "held in 60.0 % of the last 300 s" in reading.sentence


def test_a_quantity_that_nobody_measures_is_not_judged(clockwork):
    slo(clockwork, "delay_p99_s", 0.1)
    samples(clockwork.quay, 30, offered_per_s=1.0, passed_per_s=1.0)
    (reading,) = slo_readings(clockwork.system)
    assert reading.share_held is None
    assert look("slo_breach", clockwork.system).value is None


def test_budgets_burn_as_fast_as_both_stretches_of_an_alert_say(clockwork):
    assert look("budget_burn", clockwork.system).detail.endswith("no service-level objective.")
    promised = slo(clockwork, "delay_p99_s", 0.1)
    Slo.objects.filter(pk=promised.pk).update(window_s=30 * 86_400, objective=0.99)
    promised.refresh_from_db()
    assert look("budget_burn", clockwork.system).value is None
    judged_minutes(promised, *[0.05] * 60)
    assert alerting(clockwork.system) == {}
    reading = look("budget_burn", clockwork.system)
    assert (reading.value, reading.detail) == (0.0, "No budget of 1 measured objectives burns.")
    JudgedMinute.objects.all().delete()
    ObjectiveTerm.objects.all().delete()
    # Ten of the last 60 minutes burn at 16.7, one of the last 5 at 20, where 14.4 fires.
    judged_minutes(promised, 0.2, *[0.05] * 40, *[0.2] * 9, *[0.05] * 10)
    reading = look("budget_burn", clockwork.system)
    assert reading.value == pytest.approx(1000 / 60 / 14.4)
    assert reading.detail == (
        f"{promised.name} of t1 burns its budget at 16.7 over 60 min and at 20 over 5 min, "
        "115.7 % of the 14.4 at which an alert fires."
    )
    assert alerting(clockwork.system) == {str(promised.public_id): reading.detail}
    trigger = clockwork.trigger("budget_burn", threshold=1.0)
    assert triggers_evaluate() == 1
    assert seen(trigger).value == reading.value
    # So large a budget cannot burn at 14.4, nor at 6: of its alerts one is left.
    Slo.objects.filter(pk=promised.pk).update(objective=0.5)
    ObjectiveTerm.objects.update(objective=0.5)
    reading = look("budget_burn", clockwork.system)
    assert reading.value == pytest.approx(2 * 10 / (72 * 60))
    assert "of the 1 at which" in reading.detail


def machine(quay, broker, load):
    """A sample of a broker in which its agent measured this of its machine."""
    Sample.objects.create(
        broker=quay.brokers[broker], at=timezone.now(), payload={"interval_s": 1.0, "broker": load}
    )


def test_the_fullest_machine_is_read_from_its_agent(clockwork):
    quay = clockwork.quay
    assert look("machine_load", quay.system).value is None
    machine(quay, "b1", {"cpu_ratio": 1.0, "cores": 2})
    machine(quay, "b1", {"cpu_ratio": 1.4, "cores": 2, "stored_bytes": 5})
    machine(quay, "b2", {"cpu_ratio": 0.4})
    reading = look("machine_load", quay.system)
    assert reading.value == pytest.approx(0.6)
    assert reading.detail == "CPU of b1 is 60.0 % in use, as measured over 15 s."
    machine(quay, "b2", {"stored_bytes": 90, "most_stored_bytes": 100})
    machine(quay, "b2", {"stored_bytes": 80, "most_stored_bytes": 0})
    reading = look("machine_load", quay.system)
    assert reading.value == pytest.approx(0.9)
    assert reading.detail.startswith("Storage of b2 is 90.0 % in use")
    Sample.objects.update(at=timezone.now() - timedelta(seconds=16))
    assert look("machine_load", quay.system).value is None
