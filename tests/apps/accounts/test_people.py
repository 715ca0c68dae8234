"""People: only admins change them, one admin always remains."""

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from tests.factories import make_user

pytestmark = pytest.mark.django_db
NEW = {"username": "nina", "password": "a long enough secret", "roles": ["viewer"]}


def change(api, user, body, version=None):
    return api.patch(
        f"/api/v1/users/{user.public_id}",
        body,
        format="json",
        headers={"if-match": f'"{version or user.version}"'},
    )


def test_new_person_can_sign_in(api, client):
    made = api.post("/api/v1/users", NEW, format="json")
    assert made.status_code == 201, made.content
    assert "password" not in made.json()
    assert client.login(username="nina", password=NEW["password"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**NEW, "password": "short"}, "password"),
        ({**NEW, "password": "password"}, "password"),
        ({key: value for key, value in NEW.items() if key != "password"}, "password"),
        ({**NEW, "roles": ["emperor"]}, "roles"),
        ({**NEW, "username": ""}, "username"),
        ({**NEW, "username": "x" * 151}, "username"),
        ({**NEW, "email": "not an address"}, "email"),
    ],
)
def test_what_is_wrong_is_named(api, body, field):
    answer = api.post("/api/v1/users", body, format="json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["errors"][0]["field"].split("[")[0] == field
    assert not User.objects.filter(username="nina").exists()


def test_taken_name_is_409_on_create_and_on_rename(api, admin):
    make_user("nina")
    taken = api.post("/api/v1/users", NEW, format="json")
    assert (taken.status_code, taken.json()["code"]) == (409, "username_taken")
    renamed = change(api, admin, {"username": "nina"})
    assert (renamed.status_code, renamed.json()["code"]) == (409, "username_taken")
    assert renamed.json()["errors"][0]["field"] == "username"


def test_the_last_admin_stays(api, admin):
    for body in ({"roles": ["viewer"]}, {"is_active": False}):
        answer = change(api, admin, body)
        assert (answer.status_code, answer.json()["code"]) == (409, "last_admin")
    make_user("second", Role.ADMIN)
    assert change(api, admin, {"roles": ["viewer"]}).status_code == 200


def test_stale_version_is_refused(api):
    nina = make_user("nina")
    assert change(api, nina, {"first_name": "Nina"}).status_code == 200
    assert change(api, nina, {"first_name": "Late"}, version=1).status_code == 412


def test_new_password_replaces_the_old_and_is_not_in_the_record(api, client):
    nina = make_user("nina")
    secret = "entirely different words"
    assert change(api, nina, {"password": secret}).status_code == 200
    assert client.login(username="nina", password=secret)
    assert secret not in str(AuditEntry.objects.filter(object_kind="user").values())


def test_null_roles_are_refused(api):
    assert change(api, make_user("nina"), {"roles": None}).status_code == 400
