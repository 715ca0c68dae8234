"""Two people make the same thing at the same moment."""

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from tests.at_once import at_once
from tests.conftest import client_of
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_twin_accounts_of_one_name_one_is_made_and_the_others_are_told() -> None:
    admin = make_user("ada", Role.ADMIN)
    body = {"username": "grete", "password": "a long enough phrase", "roles": ["viewer"]}
    answers = at_once(*[lambda: client_of(admin).post("/api/v1/users", body, format="json")] * 4)
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    codes = {answer.json()["code"] for answer in answers if answer.status_code == 409}
    assert codes <= {"username_taken", "taken_meanwhile"}
    assert User.objects.filter(username="grete").count() == 1
