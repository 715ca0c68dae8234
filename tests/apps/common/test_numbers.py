"""A number is kept as it was sent, or refused by its name: every writable one of the schema."""

import json
import re
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from rest_framework.exceptions import ValidationError

from apps.accounts.domain.roles import Role
from apps.common.api.examples import BROKER, OTHER_BROKER, SYSTEM
from apps.common.api.fields import Number
from apps.records.api.documentation import RECORD_BATCH
from apps.runs.models import Run
from config.api_examples import NAMES, OBJECTS, REQUESTS
from tests.conftest import client_of
from tests.factories import make_user
from tests.schema import SCHEMA

PREFIX = "/api/v1"
BEYOND = "1" + "0" * 400
LITERALS = (
    *("2147483647", "2147483648", "9007199254740992", "9007199254740993", "1e308", "-1e308"),
    *("5e-324", "0.1", "-0", "1e400", BEYOND, "NaN", "Infinity", "true", '"12"'),
)
# These are no JSON, so that the whole body is refused.
NO_JSON = {"NaN", "Infinity"}
# Refused whatever the state of the system is.
NEVER = {*NO_JSON, "-1e308", "1e400", BEYOND, "true"}
# Texts of numbers are numbers: cells of tables and parameters of an address are nothing else.
MEANT = {'"12"': 12, "-0": 0}
MARK = "@number@"

Path = tuple[str | int, ...]


def resolved(spec: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in spec:
        spec = SCHEMA["components"]["schemas"][spec["$ref"].rsplit("/", 1)[1]]
    return spec


def numbers(spec: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """Yield the way to each writable number; 0 stands for a row of a list."""
    spec = resolved(spec)
    for part in ("allOf", "oneOf", "anyOf"):
        for each in spec.get(part, ()):
            yield from numbers(each, path)
    if spec.get("readOnly"):
        return
    if spec.get("type") in ("integer", "number"):
        yield path
    for name, inner in spec.get("properties", {}).items():
        if not inner.get("readOnly"):
            yield from numbers(inner, (*path, name))
    if "items" in spec:
        yield from numbers(spec["items"], (*path, 0))


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in SCHEMA["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def json_of(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    media: dict[str, Any] = content.get("application/json", {})
    return media


BODIES = [
    (method, path, way)
    for method, path, operation in operations()
    if json_of(operation)
    for way in numbers(json_of(operation)["schema"])
]
QUERIES = [
    (path, parameter["name"])
    for method, path, operation in operations()
    if method == "get"
    for parameter in operation.get("parameters", ())
    if parameter["in"] == "query" and list(numbers(parameter["schema"]))
    # What is no size of a page is none, and the schema says so.
    if parameter["name"] != "page_size"
]


# Members that have to fit the number, or that only one object may have.
BESIDE = {
    "rate_max_per_s": {"rate_min_per_s": 0},
    "map_x": {"map_y": 0.5},
    "map_y": {"map_x": 0.5},
    "rate_min": {"rate_max": 1e12},
    "rate_max": {"rate_min": 0},
}
# They compute an answer, or make a secret, and show nothing of the number.
SHOW_NOTHING = {
    f"{PREFIX}/{path}"
    for path in (
        *("overlay-transformations", "utility-curves", "utility-kinds/curve"),
        "webhooks/{id}/rotate",
    )
}
# A run has to succeed before there is one of these; the form is read before it is looked for.
OUT_OF_REACH = {"allocations", "correlation-suggestions", "mappings", "placements"}


def example_of(method: str, path: str, way: Path) -> Any:
    """The example of an operation, as another object, with the rows that the number is in."""
    example = json_of(SCHEMA["paths"][path][method])["example"]
    if method == "post" and path.removeprefix(PREFIX) in OBJECTS:
        example = {**example, "name": "another", "external_id": None}
        if "number" in example:
            example["number"] = 77
    whole = OBJECTS.get(path.removeprefix(PREFIX).removesuffix("/{id}"), ("", {}, {}))[1]
    if isinstance(way[0], str) and way[0] in whole:
        example = {way[0]: whole[way[0]], **example}
    return {**example, **BESIDE.get(str(way[-1]), {})}


def dotted(way: Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way)
    return text.removeprefix(".")


def placed(body: Any, way: Path, value: Any) -> Any:
    """The body with the value at the end of the way; what is missing on it is made."""
    if not way:
        return value
    first, *rest = way
    if isinstance(first, int):
        rows = list(body) if isinstance(body, list) and body else [None]
        rows[first] = placed(rows[first], tuple(rest), value)
        return rows
    members = dict(body) if isinstance(body, dict) else {}
    members[first] = placed(members.get(first), tuple(rest), value)
    return members


def at_the_end(answer: Any, way: Path) -> Any:
    """What stands there in an answer; None where it shows no such member."""
    for part in way:
        try:
            answer = answer[part]
        except (KeyError, IndexError, TypeError):
            return None
    return answer


def room_of(path: str) -> str:
    return re.sub(r"/\{.*", "", path.removeprefix(f"{PREFIX}/"))


class Story:
    """A client, and the objects that the examples make."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.ids: dict[str, str] = {}
        self.by_room: dict[str, str] = {}
        self.etags: dict[str, str] = {}
        for path, (public_id, body, _) in OBJECTS.items():
            self.ids[public_id] = self.by_room[path[1:]] = self.made(path, body)
            if public_id == BROKER:
                self.ids[OTHER_BROKER] = self.made(path, {**body, "name": NAMES[OTHER_BROKER]})
        for path in ("/recomputation/schedules", "/recomputation/triggers", "/webhooks"):
            self.by_room[path[1:]] = self.made(path, REQUESTS[f"POST {path}"])
        self.by_room["slo-compliance"] = self.by_room["slos"]
        self.ids[RECORD_BATCH] = self.sent_records()
        system = self.by_room["systems"]
        for room in (
            *("policies", "calibration-settings", "demand-settings", "mapping-settings"),
            "record-settings",
        ):
            rows = client.get(f"{PREFIX}/{room}", {"system": system}).json()["results"]
            self.by_room[room] = rows[0]["id"]
        estimates = self.demand_estimated(system)
        self.by_room["demand-estimates"] = estimates[0]["id"]

    def demand_estimated(self, system: str) -> Any:
        """The first estimate of a system's demand."""
        address = f"{PREFIX}/demand-settings/{self.by_room['demand-settings']}"
        assert self.send("patch", address, '{"basis": "measured"}').status_code == 200
        return self.client.get(f"{PREFIX}/demand-estimates", {"system": system}).json()["results"]

    def sent_records(self) -> str:
        """A batch of which no row waits."""
        address = f"{PREFIX}/record-batches?system={self.ids[SYSTEM]}&table=samples"
        row = {"at_s": time.time(), "broker": "b", "metric": "cpu_ratio", "value": 1}
        media_type = "application/x-ndjson"
        answer = self.client.post(address, json.dumps(row), content_type=media_type)
        assert answer.json()["accepted"] == 1
        return str(answer.json()["id"])

    def made(self, path: str, body: Any) -> str:
        answer = self.send("post", PREFIX + path, json.dumps(body))
        assert answer.status_code == 201, answer.content
        return str(answer.json()["id"])

    def send(self, method: str, address: str, text: str) -> Any:
        for example, real in self.ids.items():
            text = text.replace(example, real)
        headers = {}
        if re.search(r"/[0-9a-f-]{36}", address):
            one = re.sub(r"(/[0-9a-f-]{36}).*", r"\1", address)
            if one not in self.etags:
                self.etags[one] = self.client.get(one).headers.get("ETag", "")
            headers = {"If-Match": self.etags[one]}
        return getattr(self.client, method)(
            address, text, content_type="application/json", headers=headers
        )

    def address(self, path: str) -> str:
        return re.sub(r"\{[^}]+\}", self.by_room.get(room_of(path), str(uuid.uuid4())), path)


@pytest.fixture
def story(db: None) -> Story:
    return Story(client_of(make_user("root", *Role)))


def refused_by_name(answer: Any, name: str) -> bool:
    """Whether it names the member, or a row or object that holds it."""
    fields = [error["field"] for error in answer.json().get("errors", ())]
    return any(
        field and (name == field or name.startswith((f"{field}.", f"{field}["))) for field in fields
    )


def members(value: Any, name: str) -> Iterator[Any]:
    """Yield every member of this name, at any depth."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from members(inner, name)
    if isinstance(value, dict) and name in value:
        yield value[name]


def of_a_run(answer: Any, way: Path) -> list[Any]:
    """What was kept of a request that started something, under the name of the member."""
    name = next(part for part in reversed(way) if isinstance(part, str))
    kept = list(members(answer, name))
    for row in Run.objects.select_related("snapshot"):
        columns = {"seed": row.seed, "time_limit_s": row.time_limit_s}
        kept += members({**columns, "p": row.parameters}, name)
        kept += members(json.loads(bytes(row.snapshot.payload)), name)
    return [one[0] if isinstance(one, list) else one for one in kept]


def wrong_with(answer: Any, literal: str, way: Path, path: str, method: str) -> Any:
    """What is wrong with an answer to a number; None where nothing is."""
    declared = set(SCHEMA["paths"][path][method]["responses"])
    unmet = {"400", "428"} | ({"404"} if room_of(path) not in OUT_OF_REACH else set())
    if answer.status_code < 300:
        kept = [at_the_end(answer.json(), way)]
        if answer.status_code == 202:
            kept = of_a_run(answer.json(), way)
        meant = MEANT.get(literal, json.loads(literal))
        is_kept = meant in kept or (path in SHOW_NOTHING and kept == [None])
        return None if is_kept and literal != "true" else ("kept", kept)
    if literal not in NEVER and str(answer.status_code) in declared - unmet:
        return None
    if literal in NO_JSON and answer.json()["code"] == "parse_error":
        return None
    if answer.status_code == 400 and refused_by_name(answer, dotted(way)):
        return None
    return (answer.status_code, answer.content)


def test_a_number_in_a_body_is_kept_or_refused_by_name(story: Story) -> None:
    wrong = {}
    for method, path, way in BODIES:
        body = json.dumps(placed(example_of(method, path, way), way, MARK))
        address = story.address(path)
        for literal in LITERALS:
            point = transaction.savepoint()
            answer = story.send(method, address, body.replace(f'"{MARK}"', literal))
            complaint = wrong_with(answer, literal, way, path, method)
            transaction.savepoint_rollback(point)
            if complaint is not None:
                wrong[method, path, dotted(way), literal] = complaint
    assert wrong == {}


def test_a_number_in_an_address_is_taken_or_refused_by_name(story: Story) -> None:
    wrong = {}
    for path, name in QUERIES:
        for literal in LITERALS:
            given = {"system": story.by_room["systems"], "broker": story.ids[BROKER]}
            parameters = SCHEMA["paths"][path]["get"]["parameters"]
            known = {one["name"] for one in parameters if one["in"] == "query"}
            query = {one: value for one, value in given.items() if one in known}
            answer = story.client.get(story.address(path), {**query, name: literal.strip('"')})
            reached = answer.status_code == 200 and literal not in NEVER
            if reached or (answer.status_code == 400 and refused_by_name(answer, name)):
                continue
            if answer.status_code != 404 or room_of(path) not in OUT_OF_REACH:
                wrong[path, name, literal] = (answer.status_code, answer.content)
    assert wrong == {}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        # As other languages write 12345678901234567168 and 2^60: the shortest digits, and zeros.
        (12345678901234567000, True),
        (1152921504606847000, True),
        (12345678901234567168, True),
        (12345678901234567169, False),
        (2**53 + 1, False),
        (" 9007199254740993 ", False),
        ("9007199254740994", True),
    ],
)
def test_a_whole_number_is_the_one_that_is_stored(sent: Any, kept: bool) -> None:
    field = Number()
    if kept:
        assert field.run_validation(sent) == float(sent)
    else:
        with pytest.raises(ValidationError, match="more digits"):
            field.run_validation(sent)
