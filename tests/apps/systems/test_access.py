"""What unmanaged clients may do: set by administrators, confirmed when it opens, in the record."""

import pytest

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.systems.models import UnmanagedAccess
from apps.systems.services.settings import CONSEQUENCES, OPENNESS
from tests.factories import make_system
from weir.coordination.wire import Unmanaged

pytestmark = pytest.mark.django_db


@pytest.fixture
def system():
    return make_system()


def put(client, system, unmanaged: str, **more):
    system.refresh_from_db()
    return client.put(
        f"/api/v1/systems/{system.public_id}/access",
        {"unmanaged": unmanaged, **more},
        format="json",
        headers={"if-match": f'"{system.version}"'},
    )


def test_the_default_opens_nothing(api, system):
    shown = api.get(f"/api/v1/systems/{system.public_id}").json()
    assert shown["unmanaged"] == "refuse"
    assert "set_access" in shown["allowed_commands"]


def test_agents_and_people_use_the_same_words():
    assert list(UnmanagedAccess.values) == [each.value for each in Unmanaged]
    assert set(OPENNESS) == set(CONSEQUENCES) == set(UnmanagedAccess)


def test_opening_needs_to_be_confirmed_and_closing_does_not(api, system):
    version = system.model_version
    for wanted in ("report", "allow"):
        refused = put(api, system, wanted)
        assert (refused.status_code, refused.json()["code"]) == (409, "confirmation_needed")
        opened = put(api, system, wanted, confirm=True, reason="pilot")
        assert (opened.status_code, opened.json()["unmanaged"]) == (200, wanted)
    closed = put(api, system, "refuse")
    assert (closed.status_code, closed.json()["unmanaged"]) == (200, "refuse")
    system.refresh_from_db()
    # No part of the model, so no plan goes stale.
    assert system.model_version == version
    entries = AuditEntry.objects.filter(action="set_access").order_by("id")
    assert [(e.before["unmanaged"], e.after["unmanaged"], e.reason) for e in entries] == [
        ("refuse", "report", "pilot"),
        ("report", "allow", "pilot"),
        ("allow", "refuse", ""),
    ]


def test_the_same_again_writes_nothing(api, system):
    before = system.version
    assert put(api, system, "refuse").status_code == 200
    system.refresh_from_db()
    assert system.version == before
    assert not AuditEntry.objects.filter(action="set_access").exists()


def test_an_edit_of_the_model_cannot_set_it(api, system):
    address = f"/api/v1/systems/{system.public_id}"
    match = {"if-match": f'"{system.version}"'}
    api.patch(address, {"unmanaged": "allow"}, format="json", headers=match)
    made = api.post("/api/v1/systems", {"name": "x", "unmanaged": "allow"}, format="json")
    assert made.json()["unmanaged"] == "refuse"
    system.refresh_from_db()
    assert system.unmanaged == "refuse"


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_nobody_else_sets_it(as_role, system, role):
    client = as_role(role)
    assert put(client, system, "refuse").status_code == 403
    shown = client.get(f"/api/v1/systems/{system.public_id}").json()
    assert "set_access" not in shown["allowed_commands"]


def test_unknown_words_and_old_versions_are_refused(api, system):
    answer = put(api, system, "whatever")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "unmanaged"
    stale = api.put(
        f"/api/v1/systems/{system.public_id}/access",
        {"unmanaged": "refuse"},
        format="json",
        headers={"if-match": '"99"'},
    )
    assert stale.status_code == 412
