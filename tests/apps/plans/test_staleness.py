"""The sentence of a stale plan blames edits of the model, and nothing else that was recorded."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

from apps.audit.models import AuditEntry
from apps.audit.services import record
from apps.calibration.services import settings_for, settings_update
from apps.plans.selectors.staleness import has_moved, moved_because
from apps.policies.services import policy_for, policy_update
from apps.recomputation.models import Schedule, Trigger
from apps.runs.selectors import computations
from apps.systems.selectors import SYSTEM, entity_models, kinds_of_the_model
from apps.systems.services import entity_update, one_edit, system_update
from apps.topology.models import Broker
from tests.factories.interest_imports import carry_out, table
from tests.factories.plans import edit_model

pytestmark = pytest.mark.django_db
APPS = Path(__file__).resolve().parents[3] / "apps"
OTHERS = (
    *("agent", "automatic_stop", "calibration_settings", "channel", "connection"),
    *("demand_estimate", "demand_settings", "execution", "fit"),
    *("interest_import", "mapping_settings", "overlay_evaluation", "plan", "policy"),
    *("record_batch", "record_settings", "run", "schedule", "session", "study", "token"),
    *("trigger", "user", "webhook"),
)
"""What the audit record has entries of beside the model."""


def named_in_the_source() -> Iterator[str]:
    """Every kind of object that some service records by its name."""
    for path in APPS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.keyword) or node.arg != "object_kind":
                continue
            if isinstance(node.value, ast.Constant):
                yield str(node.value.value)


def sentence(plan):
    plan.refresh_from_db()
    plan.system.refresh_from_db()
    return moved_because(plan)


def test_every_recorded_kind_is_of_the_model_or_not() -> None:
    by_record = {one.audited_as for one in computations().values() if one.audited_as}
    by_rule = {str(model._meta.verbose_name) for model in (Schedule, Trigger)}
    # `row_update` records settings of a system by the name of their table.
    by_settings = {
        str(model._meta.verbose_name).replace(" ", "_")
        for model in apps.get_models()
        if model.__name__.endswith("Settings") and hasattr(model, "system")
    }
    assert by_settings == {
        *("calibration_settings", "demand_settings", "mapping_settings", "record_settings")
    }
    recorded = {*named_in_the_source(), *by_record, *by_rule, *by_settings}
    assert recorded - kinds_of_the_model() == set(OTHERS)
    assert kinds_of_the_model() == {SYSTEM, *(model.audited_as() for model in entity_models())}
    assert {"broker", "consumer_class", "overlay", "slo", "utility_function"} < kinds_of_the_model()


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("action", ["create", "update", "delete"])
def test_what_is_not_of_the_model_is_never_blamed(plan, harbour, ines, kind, action) -> None:
    edit_model(harbour, ines)
    harbour.system.refresh_from_db()
    record(
        actor=ines,
        action=action,
        object_kind=kind,
        object_id=harbour.system.public_id,
        object_name="the innocent",
        system_id=harbour.system.public_id,
        model_version=harbour.system.model_version,
        after={"note": "new"},
    )
    assert "ines changed topic tides" in sentence(plan)
    assert "innocent" not in sentence(plan)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.django_db(transaction=True)
def test_an_import_of_interests_is_named(plan, harbour, api, dry_run) -> None:
    topic = harbour.system.topic_set.first().name
    more = {"create_missing": "subscribers", "dry_run": str(dry_run).lower()}
    carry_out(api, harbour.system, "add", table([("u", topic)]), **more)
    if dry_run:
        plan.system.refresh_from_db()
        assert not has_moved(plan)
    else:
        assert "admin carried out interest import I-1" in sentence(plan)


def test_settings_and_policies_are_not_blamed(plan, harbour, ines) -> None:
    edit_model(harbour, ines)
    harbour.system.refresh_from_db()
    own = settings_for(harbour.system)
    settings_update(
        settings=own, actor=ines, expected_version=own.version, values={"correct_errors": True}
    )
    policy = policy_for(harbour.system)
    policy_update(
        policy=policy, actor=ines, expected_version=policy.version, values={"pace_s": 7.0}
    )
    versions = AuditEntry.objects.filter(object_kind="calibration_settings")
    assert versions.get().model_version == harbour.system.model_version
    assert sentence(plan).count("ines changed") == 1


def test_resources_of_the_system_are_named(plan, harbour, ines) -> None:
    system = harbour.system
    system.refresh_from_db()
    values = {"resources": [*system.resources, "storage"]}
    system_update(system=system, actor=ines, expected_version=system.version, values=values)
    assert "ines changed system harbour (resources)" in sentence(plan)


def test_edits_made_in_one_go_are_named_each(plan, harbour, ines) -> None:
    brokers = list(Broker.objects.filter(system=harbour.system).order_by("pk")[:2])
    with one_edit():
        for broker in brokers:
            entity_update(
                instance=broker,
                actor=ines,
                expected_version=broker.version,
                values={"region": "us"},
            )
    text = sentence(plan)
    assert all(f"ines changed broker {broker.name} (region)" in text for broker in brokers)
    assert text.endswith("Optimize again and make a new plan.")
