"""Lists are narrowed by person and by time."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.runs.models import Run
from tests.factories import make_user
from tests.factories.fleet import make_harbour
from tests.factories.kinds import make_world
from tests.factories.plans import make_plan
from tests.factories.runs import make_run

pytestmark = pytest.mark.django_db


def numbers(api: APIClient, path: str, **query: str) -> int:
    answer = api.get(f"/api/v1/{path}", query)
    assert answer.status_code == 200, answer.content
    return int(answer.json()["count"])


def test_by_person(api: APIClient) -> None:
    ines, jon = make_user("ines", Role.EDITOR), make_user("jon", Role.EDITOR)
    ines.first_name, ines.last_name = "Ines", "Moreau"
    ines.save()
    system = make_world().system
    for person in (ines, ines, jon):
        make_run(system, actor=person)
    assert numbers(api, "runs", person="moreau ines") == 2
    assert numbers(api, "runs", person="jon") == 1
    assert numbers(api, "audit", person="Moreau", action="start") == 2
    make_plan(make_harbour("quay").system, jon)
    assert numbers(api, "plans", person="jon") == 1
    assert numbers(api, "plans", person="ines") == 0


def test_by_time(api: APIClient) -> None:
    system = make_world().system
    old, new = make_run(system), make_run(system)
    day_ago = timezone.now() - timedelta(days=1)
    Run.objects.filter(pk=old.pk).update(created_at=day_ago - timedelta(hours=1))
    assert numbers(api, "runs", since=day_ago.isoformat()) == 1
    assert numbers(api, "runs", until=day_ago.isoformat()) == 1
    (row,) = api.get("/api/v1/runs", {"since": day_ago.isoformat()}).json()["results"]
    assert row["number"] == new.pk


@pytest.mark.parametrize("path", ["runs", "plans", "audit"])
@pytest.mark.parametrize("end", ["since", "until"])
def test_a_time_outside_the_calendar_is_refused(api: APIClient, path: str, end: str) -> None:
    answer = api.get(f"/api/v1/{path}", {end: "0001-01-01T00:00:00+10:00"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == end
