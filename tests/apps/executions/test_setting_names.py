"""Settings are kept by name; the database keeps them to what bears the name."""

from dataclasses import replace

import pytest

from apps.executions.documents import document_of, facts_of
from apps.executions.models import Setting
from apps.systems.services import entity_delete, entity_update
from tests.factories.fleet import Harbour, make_harbour, population, rate
from weir.actions import setting_key, target_key

ODD = 'gulls "β"\\/<&>'
"""What JSON escapes, and what it need not."""


@pytest.fixture
def harbour(db: None) -> Harbour:
    """With a rate and a limit in force, and the same in another system."""
    for other in (make_harbour("elsewhere"), here := make_harbour()):
        for action in (rate(None, 90.0), population(None, 3)):
            kind, key = setting_key(action)
            Setting.objects.create(
                system=other.system,
                kind=kind,
                target=dict(action.target),
                target_key=key,
                in_force=dict(action.after or {}),
                desired=dict(action.after or {}),
            )
    return here


def targets(harbour: Harbour) -> list[dict[str, str]]:
    """Of the system's settings, each kept under its own key."""
    rows = Setting.objects.filter(system=harbour.system)
    assert all(row.target_key == target_key(row.target) for row in rows)
    return [row.target for row in rows]


def rename(instance, name: str) -> None:
    entity_update(instance=instance, actor=None, expected_version=1, values={"name": name})


def limit_ordered(harbour: Harbour, broker: str, name: str) -> int | None:
    found = facts_of(harbour.system.pk)
    assert found is not None
    return document_of(found[1], broker).classes[name].limit


def test_a_renamed_class_keeps_its_limit(harbour):
    rename(harbour.consumers, ODD)
    assert {"broker": "c", "class": ODD, "flow": "tides"} in targets(harbour)
    assert limit_ordered(harbour, "c", ODD) == 3
    row = Setting.objects.get(system=harbour.system, target__class=ODD)
    again = replace(population(3, 4), target={"class": ODD, "flow": "tides", "broker": "c"})
    assert (row.kind, row.target_key) == setting_key(again)


def test_a_renamed_topic_keeps_its_rate(harbour):
    rename(harbour.topic, "currents")
    assert targets(harbour) == [
        {"broker": "a", "flow": "currents"},
        {"broker": "c", "class": "gulls", "flow": "currents"},
    ]
    found = facts_of(harbour.system.pk)
    assert document_of(found[1], "a").gates["currents"].rate_per_s == 90.0


def test_a_renamed_broker_keeps_what_it_enforces(harbour):
    rename(harbour.brokers["c"], "quay")
    assert {"broker": "quay", "class": "gulls", "flow": "tides"} in targets(harbour)
    assert limit_ordered(harbour, "quay", "gulls") == 3


def test_a_setting_goes_with_its_class_and_no_other_of_the_name_inherits_it(harbour):
    entity_delete(instance=harbour.consumers, actor=None, expected_version=1)
    assert targets(harbour) == [{"broker": "a", "flow": "tides"}]


def test_other_systems_keep_theirs(harbour):
    rename(harbour.consumers, "terns")
    entity_delete(instance=harbour.consumers, actor=None, expected_version=2)
    assert Setting.objects.exclude(system=harbour.system).count() == 2
    assert Setting.objects.filter(target__class="gulls").count() == 1


def test_an_edit_of_something_else_leaves_the_settings_alone(harbour):
    before = targets(harbour)
    entity_update(
        instance=harbour.topic, actor=None, expected_version=1, values={"description": "salt"}
    )
    assert targets(harbour) == before
