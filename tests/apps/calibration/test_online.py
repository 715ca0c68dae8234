"""Error corrections and latency bounds: measured, clamped, audited, and used in snapshots."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.calibration.models import CalibrationSettings, Correction, LatencyBound
from apps.calibration.selectors import calibrated_problem
from apps.calibration.services import calibration_tick, settings_for, settings_update
from apps.catalog.selectors import system_problem
from apps.telemetry.models import Sample
from tests.factories.lab import CAPACITY, sample
from tests.factories.runs import make_allocation


def set_up(lab, **values):
    row = settings_for(lab.system)
    return settings_update(settings=row, actor=None, expected_version=row.version, values=values)


def measure(lab, ratio, rate=100.0, people=2):
    """Both brokers show `ratio` times the load that the model predicts."""
    now = timezone.now()
    for broker in (lab.here, lab.there):
        predicted = 3.0 * rate + (2.0 * rate * people if broker.name == "there" else 0.0)
        row = sample(broker, now, rate=rate, people=people, cpu=2 * ratio * predicted / CAPACITY)
        row.save()


def node_cost(plain, node):
    return plain["flows"][0]["node_costs"][node]["cpu"]


def test_factor_follows_what_is_measured_and_scales_the_snapshot(lab):
    set_up(lab, correct_errors=True, smoothing=1.0)
    measure(lab, 1.3)
    assert calibration_tick() == 1
    rows = {row.broker.name: row for row in Correction.objects.select_related("broker")}
    assert rows["there"].factor == pytest.approx(1.3, rel=1e-6)
    assert rows["there"].clamped == ""
    plain = calibrated_problem(lab.system)
    assert node_cost(plain, "here") == pytest.approx(3.0 * 1.3)
    assert plain["classes"][0]["costs"]["cpu"] == pytest.approx(2.0 * 1.3)
    assert node_cost(system_problem(lab.system), "here") == 3.0


def test_one_process_of_many_corrects(lab, other_process):
    measure(lab, 1.3)
    # The key that earlier releases take: two of them may run side by side during an update.
    other_process.execute("SELECT pg_try_advisory_lock(%s)", [0x77656972_63616C62])
    assert calibration_tick() == 0
    assert not Correction.objects.exists()


@pytest.mark.parametrize(("ratio", "factor", "mark"), [(4.0, 2.0, "high"), (0.3, 0.5, "low")])
def test_factor_is_clamped_and_marked(lab, ratio, factor, mark):
    set_up(lab, correct_errors=True, smoothing=1.0)
    measure(lab, ratio, people=1)
    calibration_tick()
    row = Correction.objects.get(broker=lab.there)
    assert row.factor == factor
    assert row.clamped == mark


def test_each_change_in_force_is_audited_and_trembling_is_not(lab):
    set_up(lab, correct_errors=True, smoothing=1.0)
    for ratio in (1.3, 1.3, 1.305, 1.6):
        Sample.objects.all().delete()
        measure(lab, ratio)
        calibration_tick()
    entries = AuditEntry.objects.filter(action="correct", object_name="there").order_by("id")
    factors = [entry.after["factor"] for entry in entries]
    assert factors == [pytest.approx(1.3, rel=1e-3), pytest.approx(1.6, rel=1e-3)]
    assert "measured" in entries[0].reason


def test_correction_that_is_off_is_shown_but_changes_nothing(api, lab):
    measure(lab, 1.3)
    for _ in range(30):
        calibration_tick()
    assert calibrated_problem(lab.system) == system_problem(lab.system)
    assert not AuditEntry.objects.filter(action="correct").exists()
    state = api.get(f"/api/v1/calibration-state?system={lab.system.public_id}").json()
    assert {row["broker_name"] for row in state["corrections"]} == {"here", "there"}
    assert all(row["ratio"] > 1.2 for row in state["corrections"])
    assert not any(row["stale"] for row in state["corrections"])


def test_broker_without_measured_load_is_left_alone(lab):
    Sample.objects.create(broker=lab.here, at=timezone.now(), payload={"interval_s": 1.0})
    calibration_tick()
    assert not Correction.objects.exists()


def test_agent_that_knows_no_cores_counts_as_soon_as_somebody_says_how_many(lab):
    """An agent from before `cores`, `ack_s` and `message_bytes` beside one that tells them."""
    measure(lab, 1.3)
    old = Sample.objects.get(broker=lab.there)
    del old.payload["broker"]["cores"]
    old.save()
    source = Sample.objects.get(broker=lab.here)
    del source.payload["flows"]["prices"]["ack_s"]
    del source.payload["flows"]["prices"]["message_bytes"]
    source.save()
    assert calibration_tick() == 1
    assert [row.broker.name for row in Correction.objects.all()] == ["here"]
    assert not LatencyBound.objects.exists()
    set_up(lab, cores=2.0, smoothing=1.0)
    calibration_tick()
    assert Correction.objects.get(broker=lab.there).factor == pytest.approx(1.3, rel=1e-6)


def test_old_samples_move_nothing(lab):
    measure(lab, 1.3)
    Sample.objects.update(at=timezone.now() - timedelta(minutes=2))
    assert calibration_tick() == 0


def test_latency_bound_caps_what_a_snapshot_offers(api, lab):
    measure(lab, 1.0)
    calibration_tick()
    row = LatencyBound.objects.get(topic=lab.topic)
    assert row.producers == 2
    assert row.ack_s == pytest.approx(0.02)
    assert row.bound_per_s == pytest.approx(2 / 0.02)
    set_up(lab, bound_latency=True, messages_per_transaction=0.5)
    calibration_tick()
    plain = calibrated_problem(lab.system)
    assert plain["flows"][0]["rate_max"] == pytest.approx(0.5 * 2 / 0.02)
    assert system_problem(lab.system)["flows"][0]["rate_max"] == 100.0
    state = api.get(f"/api/v1/calibration-state?system={lab.system.public_id}").json()
    assert state["latency_bounds"][0]["topic_name"] == "prices"


def test_optimizer_gives_no_rate_that_producers_cannot_send(lab):
    set_up(lab, bound_latency=True, messages_per_transaction=0.2)
    before = make_allocation(lab.system).rates.get().rate_per_s
    measure(lab, 1.0)
    calibration_tick()
    after = make_allocation(lab.system).rates.get()
    assert after.rate_max_per_s == pytest.approx(0.2 * 2 / 0.02)
    assert after.rate_per_s <= 20.0 < before


def test_latency_bound_never_falls_below_the_least_rate(lab):
    set_up(lab, bound_latency=True, messages_per_transaction=0.001)
    measure(lab, 1.0)
    calibration_tick()
    flow = calibrated_problem(lab.system)["flows"][0]
    assert flow["rate_max"] == flow["rate_min"] == 1.0


def test_settings_are_edited_with_a_version(api, lab):
    listed = api.get(f"/api/v1/calibration-settings?system={lab.system.public_id}").json()
    row = listed["results"][0]
    assert row["correct_errors"] is False
    address = f"/api/v1/calibration-settings/{row['id']}"
    assert api.get(address).json() == row
    assert not CalibrationSettings.objects.exists(), "a look writes nothing"
    assert api.patch(address, {"correct_errors": True}, format="json").status_code == 428
    match = {"If-Match": f'"{row["version"]}"'}
    body = {"correct_errors": True, "factor_max": 1.5, "reason": "trusted"}
    answer = api.patch(address, body, format="json", headers=match)
    assert answer.status_code == 200, answer.content
    assert answer.json()["factor_max"] == 1.5
    assert (answer.json()["id"], answer.json()["version"]) == (row["id"], row["version"] + 1)
    assert api.patch(address, body, format="json", headers=match).status_code == 412
    entry = AuditEntry.objects.get(object_kind="calibration_settings")
    assert entry.reason == "trusted"
    assert entry.after == {"correct_errors": True, "factor_max": 1.5}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"factor_min": 0}, "factor_min"),
        ({"factor_max": 0.5}, "factor_max"),
        ({"smoothing": 2}, "smoothing"),
        ({"cores": 0}, "cores"),
    ],
)
def test_settings_out_of_range_are_refused_at_their_field(api, lab, values, field):
    row = settings_for(lab.system)
    answer = api.patch(
        f"/api/v1/calibration-settings/{row.public_id}",
        values,
        format="json",
        headers={"If-Match": '"1"'},
    )
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field
