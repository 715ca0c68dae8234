"""Imports of interests over the API: sent, listed, shown and refused; the export."""

import csv
import io
import random
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.sync import async_to_sync
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.catalog.models import InterestImport
from apps.catalog.services.import_execute import import_execute
from apps.systems.models import System
from tests.factories import make_system, make_user
from tests.factories.interest_imports import (
    address,
    carry_out,
    make_catalog,
    pairs_of,
    start,
    table,
)

pytestmark = pytest.mark.django_db(transaction=True)
TOPICS = ("x", "y", "z")
BEFORE = {"a": ["x", "y"], "b": ["z"], "c": []}


@pytest.fixture
def system(transactional_db: None) -> System:
    return make_catalog(BEFORE, TOPICS)


class TestApi:
    """How imports are sent, listed and shown."""

    def test_it_is_accepted_with_its_address(self, api: Any, admin: Any, system: System) -> None:
        body = table([("a", "x")])
        answer = api.generic(
            "POST", address(system, "add", reason="Why not"), body, content_type="text/csv"
        )
        assert answer.status_code == 202
        row = answer.json()
        assert answer["Location"] == f"/api/v1/interest-imports/{row['id']}"
        assert api.get(answer["Location"]).json() == row
        assert (row["number"], row["name"], row["state"]) == (1, "I-1", "queued")
        assert (row["system"], row["system_name"]) == (str(system.public_id), "harbour")
        assert (row["started_by"], row["started_by_id"]) == ("admin", str(admin.public_id))
        assert (row["size_bytes"], row["reason"]) == (len(body), "Why not")
        assert row["allowed_commands"] == ["cancel"]

    def test_numbers_count_within_a_system(self, api: Any, system: System) -> None:
        other = make_system("other")
        for place in (system, other, system):
            start(api, place, "add", table([]))
        rows = api.get("/api/v1/interest-imports").json()["results"]
        assert [(row["system_name"], row["name"]) for row in rows] == [
            *(("harbour", "I-2"), ("other", "I-1"), ("harbour", "I-1"))
        ]
        mine = api.get(f"/api/v1/interest-imports?system={other.public_id}").json()
        assert mine["count"] == 1
        assert api.get("/api/v1/interest-imports?state=succeeded").json()["count"] == 0
        assert api.get("/api/v1/interest-imports?state=queued&mode=add").json()["count"] == 3

    def test_a_repeated_request_starts_one_import(self, api: Any, system: System) -> None:
        def send(body: bytes) -> Any:
            return api.generic(
                "POST",
                address(system, "add"),
                body,
                content_type="text/csv",
                headers={"Idempotency-Key": "k1"},
            )

        first, again = send(table([("a", "x")])), send(table([("a", "x")]))
        assert (first.status_code, again.status_code) == (202, 202)
        assert again.json()["id"] == first.json()["id"]
        assert again["Idempotency-Replayed"] == "true"
        assert InterestImport.objects.count() == 1
        other = send(table([("a", "y")]))
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ({"mode": "merge"}, "mode"),
            ({"mode": ""}, "mode"),
            ({"create_missing": "topics"}, "create_missing"),
            ({"mode": "remove", "create_missing": "subscribers"}, "create_missing"),
            ({"system": "7a1e0000-0000-4000-8000-000000000001"}, "system"),
            ({"modus": "add"}, "modus"),
        ],
    )
    def test_a_wrong_query_names_its_field(
        self, api: Any, system: System, query: dict[str, str], field: str
    ) -> None:
        right = {"system": str(system.public_id), "mode": "add"}
        where = f"/api/v1/interest-imports?{urlencode({**right, **query})}"
        answer = api.generic("POST", where, table([("a", "x")]), content_type="text/csv")
        assert answer.status_code == 400, answer.content
        assert [one["field"] for one in answer.json()["errors"]] == [field]
        assert InterestImport.objects.count() == 0

    def test_an_empty_file_is_refused(self, api: Any, system: System) -> None:
        answer = api.generic("POST", address(system, "add"), b"", content_type="text/csv")
        assert answer.status_code == 400
        assert "empty" in answer.json()["detail"]

    def test_another_type_is_refused(self, api: Any, system: System) -> None:
        answer = api.generic("POST", address(system, "add"), b"a", content_type="text/xml")
        assert answer.status_code == 415
        latin = api.generic(
            "POST", address(system, "add"), b"a", content_type="text/csv; charset=latin-1"
        )
        assert latin.status_code == 400
        assert "Send UTF-8" in latin.json()["detail"]

    def test_a_file_beyond_the_limit_is_refused(
        self, api: Any, system: System, settings: Any
    ) -> None:
        settings.WEIR_LARGEST_IMPORT_BYTES = 1024 * 1024
        body = b"subscriber,topic\n" + b"a,x\n" * 300_000
        answer = api.generic("POST", address(system, "add"), body, content_type="text/csv")
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert "1 MiB" in answer.json()["detail"]
        assert InterestImport.objects.count() == 0

    def test_a_file_with_too_many_lines_is_refused_at_once(self, api: Any, system: System) -> None:
        body = b"subscriber,topic\n" + b"\n" * 5_000_001
        answer = api.generic("POST", address(system, "add"), body, content_type="text/csv")
        assert answer.status_code == 400
        assert "5,000,000 lines" in answer.json()["detail"]

    @pytest.mark.parametrize("role", [role for role in Role if role != Role.EDITOR])
    def test_who_may_not_edit_the_model_may_look(
        self, as_role: Any, system: System, role: Role
    ) -> None:
        public_id = start(as_role(Role.EDITOR), system, "add", table([("a", "z")]))
        client = as_role(role)
        sent = client.generic(
            "POST", address(system, "add"), table([("a", "x")]), content_type="text/csv"
        )
        assert sent.status_code == 403
        assert client.post(f"/api/v1/interest-imports/{public_id}/cancel").status_code == 403
        seen = client.get(f"/api/v1/interest-imports/{public_id}")
        assert (seen.status_code, seen.json()["allowed_commands"]) == (200, [])
        assert InterestImport.objects.count() == 1

    def test_a_session_without_the_token_of_a_page_sends_nothing(self, system: System) -> None:
        client = APIClient(enforce_csrf_checks=True)
        client.force_login(make_user("ines", Role.EDITOR))
        answer = client.generic(
            "POST", address(system, "add"), table([("a", "x")]), content_type="text/csv"
        )
        assert answer.status_code == 403
        assert "CSRF" in answer.json()["detail"]
        assert InterestImport.objects.count() == 0
        token = client.get("/api/v1/session").json()["csrf_token"]
        answer = client.generic(
            "POST",
            address(system, "add"),
            table([("a", "z")]),
            content_type="text/csv",
            headers={"X-CSRFToken": token},
        )
        assert answer.status_code == 202, answer.content
        import_execute(public_id=answer.json()["id"])
        assert ("a", "z") in pairs_of(system)


class TestExport:
    """All interests as a table that the import reads."""

    def export(self, api: Any, system: System) -> str:
        answer = api.get(f"/api/v1/interests/export?system={system.public_id}")
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/csv; charset=utf-8"

        async def whole() -> bytes:
            return b"".join([piece async for piece in answer.streaming_content])

        return async_to_sync(whole)().decode()

    def test_it_has_every_interest_in_order(self, api: Any, system: System) -> None:
        make_catalog({"z": ["x"]}, ["x"], name="other")
        rows = list(csv.reader(io.StringIO(self.export(api, system))))
        assert rows == [["subscriber", "topic"], ["a", "x"], ["a", "y"], ["b", "z"]]

    def test_the_import_of_it_changes_nothing(self, api: Any, transactional_db: None) -> None:
        names = ["=1", "'=1", "''-", "@a", "a,b", 'q"', "-", "+", "é", "plain", "'plain"]
        rng = random.Random(3)
        system = make_catalog({name: rng.sample(names, 4) for name in names}, names)
        text = self.export(api, system)
        assert "\n=1" not in text
        assert '"=1' not in text
        row = carry_out(api, system, "replace", text.encode())
        assert (row["lines"], row["unchanged"], row["model_version"]) == (44, 44, None)
        emptied = carry_out(api, system, "remove", text.encode())
        assert emptied["removed"] == 44
        assert self.export(api, system).splitlines() == ["subscriber,topic"]

    def test_it_needs_a_system(self, api: Any, db: None) -> None:
        answer = api.get("/api/v1/interests/export")
        assert answer.status_code == 400
        assert [one["field"] for one in answer.json()["errors"]] == ["system"]
