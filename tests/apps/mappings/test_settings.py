"""What receiving and moving costs in a system: read, changed, and used by the next mapping."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError
from apps.mappings.models import MappingSettings
from apps.mappings.selectors.problem import mapping_problem
from apps.mappings.selectors.settings import settings_of
from apps.mappings.services.settings import settings_update
from apps.systems.models import System
from tests.conftest import tagged_version
from tests.factories import make_system
from tests.factories.market import make_market
from weir.model.mapping import Moving, Weights

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/mapping-settings"
DEFAULTS = {
    "transport": 2.0,
    "messaging": 1.0,
    "aggregation": 8.0,
    "flow_move_work": 1000.0,
    "stream_move_work": 10_000.0,
    "horizon_s": 3600.0,
    "flows_per_s": 40.0,
}


@pytest.fixture
def system() -> System:
    return make_system()


def change(api: Any, system: System, version: int = 1, **values: Any) -> Any:
    headers = {"If-Match": f'"{version}"'}
    key = settings_of(system).public_id
    return api.patch(f"{ADDRESS}/{key}", values, format="json", headers=headers)


def test_defaults_hold_until_somebody_changes_them(api, system):
    (row,) = api.get(ADDRESS, {"system": str(system.public_id)}).json()["results"]
    assert {name: row[name] for name in DEFAULTS} == DEFAULTS
    assert (row["id"], row["version"]) == (str(system.public_id), 1)
    assert row["allowed_commands"] == ["edit"]
    answer = api.get(f"{ADDRESS}/{row['id']}")
    assert (answer.json(), tagged_version(answer)) == (row, 1)
    assert not MappingSettings.objects.exists(), "a look writes nothing"
    assert api.get(ADDRESS).json()["count"] == 0


def test_a_change_has_a_version_an_entry_and_news(api, system, django_capture_on_commit_callbacks):
    before = System.objects.get(pk=system.pk).model_version
    assert api.patch(f"{ADDRESS}/{system.public_id}", {}, format="json").status_code == 428
    with django_capture_on_commit_callbacks() as after:
        answer = change(api, system, transport=3.0, horizon_s=60.0, reason="measured")
    assert answer.status_code == 200, answer.content
    assert (answer.json()["transport"], answer.json()["messaging"]) == (3.0, 1.0)
    assert (answer.json()["version"], answer["ETag"]) == (2, '"2"')
    assert answer.json()["id"] == str(system.public_id), "the row has the id of the defaults"
    assert change(api, system, transport=4.0).status_code == 412
    entry = AuditEntry.objects.get(object_kind="mapping_settings")
    assert (entry.action, entry.reason) == ("update", "measured")
    assert entry.before == {"transport": 2.0, "horizon_s": 3600.0}
    assert entry.after == {"transport": 3.0, "horizon_s": 60.0}
    assert [json.loads(callback.args[0]) for callback in after] == [
        {"kind": "mapping", "system": str(system.public_id)}
    ]
    # What is mapped stays the same: no plan of the model is stale because of this.
    assert System.objects.get(pk=system.pk).model_version == before
    assert api.get(ADDRESS).json()["count"] == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transport", -1),
        ("transport", 1e31),
        ("transport", "free"),
        ("messaging", True),
        ("aggregation", 0.5),
        ("aggregation", 1e9),
        ("flow_move_work", -0.1),
        ("stream_move_work", "Infinity"),
        ("horizon_s", 0),
        ("horizon_s", 1e9),
        ("flows_per_s", 0),
        ("flows_per_s", 1e9),
        # What a problem cannot hold.
        ("transport", 1e-40),
        ("messaging", 1e-31),
        ("flow_move_work", 5e-324),
    ],
)
def test_what_is_out_of_range_is_refused_at_its_field(api, system, name, value):
    answer = change(api, system, **{name: value})
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [name]
    assert not MappingSettings.objects.exists()


@pytest.mark.parametrize("name", ["transport", "messaging", "flow_move_work", "stream_move_work"])
def test_what_costs_nothing_is_taken(api, system, name):
    assert change(api, system, **{name: 0}).json()[name] == 0.0


def test_unknown_members_are_refused(api, system):
    assert change(api, system, transprot=1).status_code == 400


def test_a_service_that_is_given_too_much_names_the_field(system):
    with pytest.raises(ApplicationError) as caught:
        settings_update(
            settings=settings_of(system),
            actor=None,
            expected_version=1,
            values={"aggregation": 0.25},
        )
    assert caught.value.errors[0].field == "aggregation"


def test_editors_change_them_and_everybody_reads_them(as_role, system):
    viewer = as_role(Role.VIEWER)
    (row,) = viewer.get(ADDRESS, {"system": str(system.public_id)}).json()["results"]
    assert row["allowed_commands"] == []
    assert change(viewer, system, transport=1.0).status_code == 403
    assert change(as_role(Role.EDITOR), system, transport=1.0).status_code == 200


def test_the_next_mapping_is_computed_with_them(api):
    market = make_market()
    assert change(api, market.system, **{n: v * 2 for n, v in DEFAULTS.items()}).status_code == 200
    problem = mapping_problem(market.system)
    assert problem.weights == Weights(transport=4.0, messaging=2.0, aggregation=16.0)
    assert problem.moving == Moving(
        flow_work=2000.0, stream_work=20_000.0, horizon_s=7200.0, flows_per_s=80.0
    )
    assert (problem.move_cost, problem.stream_move_cost) == (2000 / 7200, 20_000 / 7200)


def test_the_database_refuses_what_no_settings_can_be(system):
    row = MappingSettings.objects.create(system=system)
    for values, name in (
        ({"transport": float("nan")}, "work_finite"),
        ({"aggregation": 0.5}, "aggregation_at_least_1"),
        ({"flows_per_s": 0.0}, "horizon_and_pace"),
    ):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            MappingSettings.objects.filter(pk=row.pk).update(**values)
