"""Who asks again gets 304 while nothing differs, and a 202 says when to look."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.common.api.polling import POLL_AFTER_S
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.kinds import World
from tests.factories.runs import make_run_in
from tests.schema import SCHEMA
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db
NEVER_ALIKE = {"/api/v1/interests/export", "/api/v1/event-stream", "/api/v1/session"}
"""Streams, and what has a new token each time."""


def again(client: APIClient, address: str, tag: str) -> Any:
    return client.get(address, headers={"If-None-Match": tag})


@pytest.fixture
def broker(world: World) -> str:
    """The address of an object with a version."""
    return f"/api/v1/brokers/{world.broker.public_id}"


def test_every_read_of_the_schema_has_a_tag_and_a_304() -> None:
    reads = {path: item["get"] for path, item in SCHEMA["paths"].items() if "get" in item}
    without = {
        path
        for path, operation in reads.items()
        if "304" not in operation["responses"]
        or not operation["responses"]["200"]["headers"]["ETag"]["required"]
        or "If-None-Match" not in {one["name"] for one in operation["parameters"]}
    }
    assert without == NEVER_ALIKE


def test_every_202_of_the_schema_says_when_to_look() -> None:
    answers = [
        operation["responses"]["202"]
        for item in SCHEMA["paths"].values()
        for operation in item.values()
        if "202" in operation["responses"]
    ]
    assert answers
    assert all("Retry-After" in answer["headers"] for answer in answers)


def test_an_answer_that_is_the_same_is_not_sent_again(api: APIClient, broker: str) -> None:
    for address in (broker, "/api/v1/brokers", "/api/v1/overview", "/api/v1/optimizers"):
        first = api.get(address)
        tag = first["ETag"]
        answer = again(api, address, tag)
        assert (answer.status_code, answer.content) == (304, b""), address
        assert "Content-Type" not in answer
        for name in ("ETag", "Vary", "Cache-Control"):
            assert answer[name] == first[name]
        assert again(api, address, f'"x", W/{tag}').status_code == 304
        assert again(api, address, "*").status_code == 304
        other = again(api, address, '"x"')
        assert (other.status_code, other.content) == (200, first.content)


def test_the_session_is_kept_nowhere(api: APIClient) -> None:
    answer = api.get("/api/v1/session")
    assert (answer["Cache-Control"], "ETag" in answer) == ("no-store", False)


def test_what_may_be_kept_is_one_callers_own(api: APIClient, broker: str) -> None:
    answer = api.get(broker)
    assert answer["Cache-Control"] == "private, no-cache"
    assert {"Authorization", "Cookie"} <= {one.strip() for one in answer["Vary"].split(",")}


def test_head_answers_as_get_does(api: APIClient, broker: str) -> None:
    tag = api.get(broker)["ETag"]
    first = api.head(broker)
    assert (first.status_code, first["ETag"], first.content) == (200, tag, b"")
    assert api.head(broker, headers={"If-None-Match": tag}).status_code == 304


def test_a_tag_names_the_version_and_all_that_the_answer_says(
    api: APIClient, world: World, broker: str
) -> None:
    tag, version = api.get(broker)["ETag"], api.get(broker).json()["version"]
    assert tag.startswith(f'"{version}-')
    reader = client_of(make_user("reader", Role.VIEWER))
    # Who may do less reads another answer of the same version.
    assert reader.get(broker)["ETag"].startswith(f'"{version}-')
    assert again(reader, broker, tag).status_code == 200
    # So does everybody once the system has another name.
    system = f"/api/v1/systems/{world.system.public_id}"
    headers = {"If-Match": api.get(system)["ETag"]}
    assert api.patch(system, {"name": "renamed"}, format="json", headers=headers).status_code == 200
    renamed = again(api, broker, tag)
    assert (renamed.status_code, renamed.json()["version"]) == (200, version)
    assert renamed["ETag"] != tag


def test_edits_compare_the_version_alone(api: APIClient, broker: str) -> None:
    for form in ('"{}"', '"{}-0123"', 'W/"{}-0123"', '"{}-0123-gzip"', "{}"):
        version = api.get(broker).json()["version"]
        body = {"publish_rate_max_per_s": 10.0 + version}
        for named, status in ((version + 1, 412), (version, 200)):
            headers = {"If-Match": form.format(named)}
            answer = api.patch(broker, body, format="json", headers=headers)
            assert answer.status_code == status, (form, answer.content)
        assert answer["ETag"] == f'"{version + 1}"'
    now = api.get(broker).json()["version"]
    wrong = (f'"{now}', f'{now}"', f"{now}-x, 9", f'"{now}" "{now}"', '"-1"', '"x-1"', "*")
    for tag in (*wrong, '"9999999999999999999"'):
        answer = api.patch(broker, {}, format="json", headers={"If-Match": tag})
        assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch"), tag


def test_files_are_not_sent_again_and_streams_have_no_tag(api: APIClient, world: World) -> None:
    query = f"?system={world.system.public_id}"
    first = api.get(f"/api/v1/brokers/export{query}")
    assert again(api, f"/api/v1/brokers/export{query}", first["ETag"]).status_code == 304
    assert "ETag" not in api.get(f"/api/v1/interests/export{query}")


def test_refusals_and_other_pages_have_no_tag(api: APIClient, broker: str) -> None:
    for answer in (
        api.get("/api/v1/plans?state=nonsense"),
        APIClient().get(broker, headers={"If-None-Match": "*"}),
        api.get("/livez"),
    ):
        assert "ETag" not in answer
        assert answer.status_code != 304


def test_a_202_says_when_to_look_also_the_second_time(
    api: APIClient, admin: User, world: World
) -> None:
    run = make_run_in(RunState.SUCCEEDED, world.system, admin)
    for _ in range(2):
        answer = api.post(f"/api/v1/runs/{run.public_id}/rerun", headers={"Idempotency-Key": "k"})
        assert answer.status_code == 202, answer.content
        assert answer["Retry-After"] == str(POLL_AFTER_S)
    assert "Retry-After" not in api.get(f"/api/v1/runs/{run.public_id}")
