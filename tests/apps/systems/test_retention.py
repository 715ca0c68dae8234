"""For how long delivered reliable messages are kept: set by administrators, told to agents."""

import pytest

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.executions.services.documents import document_of, facts_of, stamp_of
from apps.systems.models import System
from tests.factories.fleet import make_harbour

pytestmark = pytest.mark.django_db


@pytest.fixture
def system() -> System:
    return make_harbour().system


def put(client, system, retention_s, version=None, **more):
    system.refresh_from_db()
    return client.put(
        f"/api/v1/systems/{system.public_id}/retention",
        {"retention_s": retention_s, **more},
        format="json",
        headers={"If-Match": f'"{version or system.version}"'},
    )


def kept(system) -> int:
    facts = facts_of(system.pk)
    assert facts is not None
    return document_of(facts[1], "c").flows["tides"].keep_s


def test_an_hour_unless_somebody_says_otherwise(system, api):
    assert api.get(f"/api/v1/systems/{system.public_id}").json()["retention_s"] == 3600
    assert kept(system) == 3600


def test_agents_are_told_at_once_and_no_plan_goes_stale(system, api):
    before, model = stamp_of(system.pk), System.objects.get(pk=system.pk).model_version
    answer = put(api, system, 86_400, reason="weekend")
    assert answer.status_code == 200, answer.text
    assert answer.json()["retention_s"] == 86_400
    assert kept(system) == 86_400
    after = stamp_of(system.pk)
    assert after != before
    assert all(a >= b for a, b in zip(after, before, strict=True))
    assert System.objects.get(pk=system.pk).model_version == model
    (entry,) = AuditEntry.objects.filter(action="set_retention")
    assert (entry.before, entry.after) == ({"retention_s": 3600}, {"retention_s": 86_400})
    assert entry.reason == "weekend"


def test_what_forgets_messages_is_confirmed(system, api):
    answer = put(api, system, 600)
    assert answer.status_code == 409
    assert answer.json()["code"] == "confirmation_needed"
    assert "consumers that have been away for longer miss it" in answer.json()["detail"]
    assert kept(system) == 3600
    assert put(api, system, 600, confirm=True).status_code == 200
    assert kept(system) == 600


@pytest.mark.parametrize("wrong", [0, 119, 30 * 86_400 + 1, -5, "an hour", None, 1.5])
def test_nonsense_is_refused_at_the_field(system, api, wrong):
    answer = put(api, system, wrong, confirm=True)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "retention_s"
    assert kept(system) == 3600


def test_an_edit_of_something_older_is_refused(system, api):
    put(api, system, 7200)
    assert put(api, system, 9000, version=1).status_code == 412


@pytest.mark.parametrize("role", list(Role))
def test_only_administrators_set_it(system, as_role, role):
    client = as_role(role)
    may = role is Role.ADMIN
    shown = client.get(f"/api/v1/systems/{system.public_id}").json()
    assert ("set_retention" in shown["allowed_commands"]) is may
    assert put(client, system, 7200).status_code == (200 if may else 403)
