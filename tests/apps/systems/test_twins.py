"""The same request twice at the same moment."""

from functools import partial

import pytest

from apps.accounts.domain.roles import Role
from apps.catalog.models import CorrelationKey
from apps.systems.models import System
from tests.at_once import at_once
from tests.conftest import client_of
from tests.factories import make_system, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clients():
    erik = make_user("erik", Role.EDITOR)
    return [client_of(erik) for _ in range(4)]


def four(send):
    """Four requests, each from a client of its own."""
    return [partial(send, index) for index in range(4)]


def test_twins_under_one_idempotency_key_make_one_object(clients):
    system = make_system()
    body = {"system": str(system.public_id), "name": "open"}

    def send(index):
        return clients[index].post(
            "/api/v1/correlation-keys", body, format="json", headers={"idempotency-key": "one"}
        )

    answers = at_once(*four(send))
    assert {a.status_code for a in answers} == {201}, [a.content for a in answers]
    assert len({a.json()["id"] for a in answers}) == 1
    assert sum("Idempotency-Replayed" in a for a in answers) == 3
    assert CorrelationKey.objects.count() == 1
    system.refresh_from_db()
    assert system.model_version == 2


def test_twin_systems_of_one_name_make_one_system(clients):
    def send(index):
        return clients[index].post("/api/v1/systems", {"name": "harbour"}, format="json")

    codes = sorted(a.status_code for a in at_once(*four(send)))
    assert codes[0] == 201
    assert set(codes[1:]) <= {400, 409}
    assert System.objects.count() == 1


def test_of_twin_edits_of_one_version_one_wins(clients):
    system = make_system()
    made = clients[0].post(
        "/api/v1/correlation-keys", {"system": str(system.public_id), "name": "k"}, format="json"
    )

    def send(index):
        return clients[index].patch(
            f"/api/v1/correlation-keys/{made.json()['id']}",
            {"description": f"by {index}"},
            format="json",
            headers={"if-match": '"1"'},
        )

    assert sorted(a.status_code for a in at_once(*four(send))) == [200, 412, 412, 412]


def test_edits_of_different_objects_at_once_each_advance_the_model_version(clients):
    system = make_system()

    def send(index):
        body = {"system": str(system.public_id), "name": f"k{index}"}
        return clients[index].post("/api/v1/correlation-keys", body, format="json")

    assert {a.status_code for a in at_once(*four(send))} == {201}
    system.refresh_from_db()
    assert system.model_version == 5
