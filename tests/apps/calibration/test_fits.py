"""A fit from request to the model and back, over REST and by the services."""

import json

import pytest
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.calibration.models import Coefficient, Correction, Fit
from apps.calibration.selectors import calibrated_problem
from apps.calibration.services import fit_request, settings_for, settings_update
from apps.catalog.models import ConsumerClassCost, TopicNodeCost
from apps.common.errors import ApplicationError
from apps.systems.services import entity_update
from tests.factories.lab import IDLE, A, B


@pytest.fixture
def fit(measured_lab, solved, admin):
    return solved(fit_request(system=measured_lab.system, actor=admin)).fit


def address(fit, command=""):
    return f"/api/v1/calibrations/{fit.public_id}{command}"


def command(api, fit, name, version=None, **body):
    return api.post(
        address(fit, f"/{name}"),
        body,
        format="json",
        headers={"If-Match": f'"{fit.version if version is None else version}"'},
    )


def keys(fit, **match):
    rows = Coefficient.objects.filter(case__fit=fit, **match).exclude(kind="idle")
    return [str(row.public_id) for row in rows]


def flow_cost(lab, broker):
    return TopicNodeCost.objects.get(topic=lab.topic, broker=broker).cost


def class_cost(lab):
    return ConsumerClassCost.objects.get(consumer_class=lab.consumers).cost


def test_snapshot_of_a_fit_is_answered_as_json_lines(api, measured_lab, admin):
    run = fit_request(system=measured_lab.system, actor=admin)
    answer = api.get(f"/api/v1/runs/{run.public_id}/snapshot")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/jsonl")
    assert answer.content == bytes(run.snapshot.payload)
    assert len([json.loads(line) for line in answer.content.splitlines()]) > 1000


def test_fit_finds_what_the_telemetry_was_made_of(fit):
    coefficients = {
        (row.case.broker, row.kind): row
        for row in Coefficient.objects.filter(case__fit=fit).select_related("case")
    }
    for place in ("here", "there"):
        assert coefficients[place, "flow"].value == pytest.approx(A, rel=0.05)
        assert coefficients[place, "idle"].value == pytest.approx(IDLE, rel=0.2)
        assert coefficients[place, "flow"].old == 3.0
    assert coefficients["there", "class"].value == pytest.approx(B, rel=0.05)
    assert coefficients["there", "class"].identified


def test_detail_shows_intervals_residuals_and_commands(api, fit):
    answer = api.get(address(fit))
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["name"] == "F-1"
    assert body["state"] == "proposed"
    assert set(body["allowed_commands"]) == {"apply", "discard"}
    case = next(c for c in body["cases"] if c["broker"] == "there")
    assert case["measure"] == "cpu"
    assert case["points"] >= 50
    assert case["r_squared"] > 0.95
    for point in case["scatter"]:
        assert point["before"] != pytest.approx(point["measured"], rel=0.02)
        assert point["fitted"] == pytest.approx(point["measured"], rel=0.1)
    for row in case["coefficients"]:
        assert row["low"] <= row["value"] <= row["high"]


def test_apply_writes_only_what_was_chosen_and_undo_puts_it_back(api, fit, measured_lab):
    lab = measured_lab
    lab.system.refresh_from_db()
    before = lab.system.model_version
    chosen = keys(fit, case__broker="there")
    answer = command(api, fit, "apply", coefficients=chosen, reason="measured today")
    assert answer.status_code == 200, answer.content
    assert answer.json()["state"] == "applied"
    assert answer.json()["applied_count"] == 2
    assert flow_cost(lab, lab.there) == pytest.approx(A, rel=0.05)
    assert class_cost(lab) == pytest.approx(B, rel=0.05)
    assert flow_cost(lab, lab.here) == 3.0
    lab.system.refresh_from_db()
    assert lab.system.model_version == before + 1
    kinds = set(AuditEntry.objects.filter(reason="measured today").values_list("action", flat=True))
    assert kinds == {"update", "apply"}

    undone = command(api, fit, "undo", version=answer.json()["version"])
    assert undone.status_code == 200, undone.content
    assert undone.json()["state"] == "undone"
    assert flow_cost(lab, lab.there) == 3.0
    assert class_cost(lab) == 2.0


def test_correction_of_replaced_costs_begins_anew(api, fit, measured_lab):
    lab = measured_lab
    row = settings_for(lab.system)
    settings_update(
        settings=row, actor=None, expected_version=row.version, values={"correct_errors": True}
    )
    for broker in (lab.here, lab.there):
        Correction.objects.create(
            broker=broker, resource="cpu", ratio=0.6, factor=0.6, clamped="low", at=timezone.now()
        )
    answer = command(api, fit, "apply", coefficients=keys(fit, case__broker="there"))
    assert answer.status_code == 200, answer.content
    # Otherwise the snapshot would hold the fitted cost times what the old one was too large by.
    costs = calibrated_problem(lab.system)["flows"][0]["node_costs"]
    assert costs["there"]["cpu"] == flow_cost(lab, lab.there)
    assert costs["here"]["cpu"] == pytest.approx(0.6 * flow_cost(lab, lab.here))
    entry = AuditEntry.objects.get(action="correct")
    assert (entry.before["factor"], entry.after["factor"]) == (0.6, 1.0)
    assert entry.reason == "fitted by F-1"


def test_cost_that_the_model_lacked_is_added_and_taken_away_again(api, measured_lab, solved, admin):
    lab = measured_lab
    TopicNodeCost.objects.filter(topic=lab.topic, broker=lab.there).delete()
    fit = solved(fit_request(system=lab.system, actor=admin)).fit
    chosen = keys(fit, case__broker="there", kind="flow")
    answer = command(api, fit, "apply", coefficients=chosen)
    assert answer.status_code == 200, answer.content
    assert flow_cost(lab, lab.there) == pytest.approx(A, rel=0.05)
    command(api, fit, "undo", version=answer.json()["version"])
    assert not TopicNodeCost.objects.filter(topic=lab.topic, broker=lab.there).exists()


def test_cost_that_somebody_edited_since_is_not_overwritten(api, fit, measured_lab, admin):
    lab = measured_lab
    entity_update(
        instance=lab.consumers,
        actor=admin,
        expected_version=lab.consumers.version,
        values={},
        children={"costs": [{"resource": "cpu", "cost": 2.5}]},
    )
    answer = command(api, fit, "apply", coefficients=keys(fit))
    assert answer.status_code == 409
    assert answer.json()["code"] == "changed_since"
    assert "desks" in answer.json()["detail"]
    assert class_cost(lab) == 2.5
    assert flow_cost(lab, lab.there) == 3.0
    assert Fit.objects.get(pk=fit.pk).state == "proposed"


def test_discarded_fit_cannot_be_applied(api, fit):
    discarded = command(api, fit, "discard", reason="a fault in the test")
    assert discarded.json()["state"] == "discarded"
    assert discarded.json()["allowed_commands"] == []
    answer = command(api, fit, "apply", version=2, coefficients=keys(fit))
    assert answer.status_code == 409
    assert answer.json()["code"] == "fit_state"
    assert "a fit that is discarded cannot apply" in answer.json()["detail"]


def test_what_a_fit_cannot_do_is_refused_with_what_it_can(api, fit):
    answer = command(api, fit, "undo")
    assert answer.status_code == 409
    assert answer.json()["code"] == "fit_state"
    assert "allowed: apply, discard" in answer.json()["detail"]


def test_undone_fit_is_not_applied_again(api, fit, measured_lab):
    chosen = keys(fit, case__broker="there")
    applied = command(api, fit, "apply", coefficients=chosen).json()
    assert applied["allowed_commands"] == ["undo"]
    undone = command(api, fit, "undo", version=applied["version"]).json()
    assert undone["allowed_commands"] == []
    again = command(api, fit, "apply", version=undone["version"], coefficients=chosen)
    assert again.status_code == 409
    assert flow_cost(measured_lab, measured_lab.there) == 3.0


@pytest.mark.parametrize("name", ["apply", "discard"])
def test_decision_needs_the_version_that_was_seen(api, fit, name):
    body = {"coefficients": keys(fit)} if name == "apply" else {}
    assert api.post(address(fit, f"/{name}"), body, format="json").status_code == 428
    assert command(api, fit, name, version=7, **body).status_code == 412


def test_idle_load_is_nothing_the_model_can_hold(api, fit):
    idle = Coefficient.objects.filter(case__fit=fit, kind="idle").first()
    answer = command(api, fit, "apply", coefficients=[str(idle.public_id)])
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "coefficients[0]"


def test_nothing_measured_is_refused_in_words(lab, admin):
    with pytest.raises(ApplicationError, match="measured anything") as refused:
        fit_request(system=lab.system, actor=admin)
    assert refused.value.code == "nothing_measured"


def test_request_opens_a_run_on_frozen_records(api, measured_lab):
    body = {"system": str(measured_lab.system.public_id), "minutes": 5}
    answer = api.post("/api/v1/calibrations", body, format="json")
    assert answer.status_code == 202, answer.content
    run = answer.json()
    assert run["kind"] == "calibration"
    assert run["parameters"]["engine"] == "local"
    from apps.runs.models import Run

    payload = bytes(Run.objects.get(public_id=run["id"]).snapshot.payload)
    lines = payload.split(b"\n")
    assert len(lines) == 1 + run["parameters"]["samples"]
    assert 500 <= run["parameters"]["samples"] <= 600
    assert {case["broker"] for case in json.loads(lines[0])["cases"]} == {"here", "there"}


def test_list_counts_what_is_identified(api, fit, measured_lab):
    answer = api.get(f"/api/v1/calibrations?system={measured_lab.system.public_id}")
    row = answer.json()["results"][0]
    assert row["coefficient_count"] == 3
    assert row["identified_count"] == 3
    assert row["applied_count"] == 0
