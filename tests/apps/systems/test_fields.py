"""What is wrong with a value is said at its field, in child rows too, on create and on edit."""

import json
from typing import Any

import pytest

from apps.systems.models import System
from tests.factories import make_system
from tests.factories.kinds import BY_PATH, World

pytestmark = pytest.mark.django_db

# kind, path of the number in the body, and whether it may be left out
NUMBERS = [
    ("brokers", "capacities[0].capacity"),
    ("brokers", "map_x"),
    ("brokers", "map_y"),
    ("links", "capacity"),
    ("links", "latency_s"),
    ("topics", "rate_min_per_s"),
    ("topics", "rate_max_per_s"),
    ("topics", "node_costs[1].cost"),
    ("topics", "link_costs[0].cost"),
    ("publishers", "rate_per_s"),
    ("consumer-classes", "costs[0].cost"),
    ("consumer-classes", "population_max"),
    ("slos", "target"),
    ("slos", "objective"),
    ("slos", "window_s"),
    ("streams", "number"),
    ("groups", "number"),
]
TOKENS = {"token_rate_per_s": 5, "token_bucket": 5}


def placed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with the value at `rows[1].cost` or `name`."""
    body = json.loads(json.dumps(body))
    if "[" in path:
        rows, rest = path.split("[")
        index, inner = rest.split("].")
        body[rows][int(index)][inner] = value
    else:
        body[path] = value
    return body


def raw(api: Any, method: str, address: str, body: Any, literal: str = "", **headers: str) -> Any:
    """Send JSON in which the text "@" stands for a literal that json.dumps would not write."""
    text = json.dumps(body).replace('"@"', literal)
    return getattr(api, method)(
        address, text.encode(), content_type="application/json", headers=headers
    )


def fields(answer: Any) -> list[str]:
    return [error["field"] for error in answer.json().get("errors", [])]


@pytest.mark.parametrize(("path", "member"), NUMBERS)
def test_impossible_number_is_refused_at_its_field(api, world: World, path, member):
    address = f"/api/v1/{path}"
    body = placed(BY_PATH[path].new(world), member, "@")
    for literal in ("-1", "1e400", "-1e400", '"many"', "[]", "{}", "true", "9" * 5000):
        answer = raw(api, "post", address, body, literal)
        assert answer.status_code == 400, (literal, answer.content)
        assert fields(answer) == [member] or answer.json()["code"] == "parse_error"
    assert api.get(address, {"search": "alpha"}).json()["count"] == 0


def test_a_recorded_bucket_goes_with_the_token_bucket(api, world: World):
    body = BY_PATH["topics"].new(world, **TOKENS, recorded_bucket=1.5)
    made = api.post("/api/v1/topics", body, format="json").json()
    assert made["recorded_bucket"] == 1.5
    address, without = f"/api/v1/topics/{made['id']}", dict.fromkeys(TOKENS)
    kept = api.patch(address, without, format="json", headers={"if-match": '"1"'})
    assert (kept.status_code, fields(kept)) == (400, ["recorded_bucket"])
    without["recorded_bucket"] = None
    gone = api.patch(address, without, format="json", headers={"if-match": '"1"'})
    assert (gone.status_code, gone.json()["recorded_bucket"]) == (200, None)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_know_is_a_parse_error(api, world: World, literal):
    answer = raw(
        api, "post", "/api/v1/links", placed(BY_PATH["links"].new(world), "capacity", "@"), literal
    )
    assert answer.status_code == 400
    assert answer.json()["code"] == "parse_error"


@pytest.mark.parametrize(("path", "member"), NUMBERS)
def test_impossible_number_is_refused_on_edit_too(api, world: World, path, member):
    kind = BY_PATH[path]
    made = api.post(f"/api/v1/{path}", kind.new(world), format="json").json()
    full = placed(kind.new(world), member, "@")
    member_only = {member.split("[")[0]: full[member.split("[")[0]]}
    address = f"/api/v1/{path}/{made['id']}"
    answer = raw(api, "patch", address, member_only, "-1", **{"if-match": '"1"'})
    assert answer.status_code == 400, answer.content
    assert fields(answer) == [member]


@pytest.mark.parametrize(
    ("path", "values", "field"),
    [
        ("topics", {"rate_min_per_s": 11, "rate_max_per_s": 10}, "rate_min_per_s"),
        ("topics", {"token_rate_per_s": 5}, "token_bucket"),
        ("topics", {"token_bucket": 5}, "token_rate_per_s"),
        ("topics", {"recorded_bucket": 30}, "recorded_bucket"),
        ("topics", {**TOKENS, "recorded_bucket": 0.5}, "recorded_bucket"),
        ("topics", {"pattern": "gossip"}, "pattern"),
        ("topics", {"delivery": "maybe"}, "delivery"),
        ("brokers", {"capacities": [{"resource": "gpu", "capacity": 1}]}, "capacities[0].resource"),
        ("brokers", {"capacities": [{"capacity": 1}]}, "capacities[0].resource"),
        ("brokers", {"capacities": [{"resource": "cpu"}]}, "capacities[0].capacity"),
        ("brokers", {"capacities": {"cpu": 1}}, "capacities"),
        ("brokers", {"capacities": [5]}, "capacities[0]"),
        ("brokers", {"capacities": [{"resource": "cpu", "capacity": 1}] * 2}, "capacities[1]"),
        ("consumer-classes", {"costs": [{"resource": "gpu", "cost": 1}]}, "costs[0].resource"),
        ("consumer-classes", {"population_max": 2**31}, "population_max"),
        ("consumer-classes", {"population_max": 1.5}, "population_max"),
        ("consumer-classes", {"tier": "x" * 33}, "tier"),
        ("slos", {"quantity": "happiness"}, "quantity"),
        ("slos", {"objective": 1}, "objective"),
        ("slos", {"objective": 0}, "objective"),
        ("slos", {"window_s": 0}, "window_s"),
        ("overlays", {"purpose": "art"}, "purpose"),
        ("overlays", {"purpose": "goal", "in_force": True}, "in_force"),
        ("utility-functions", {"kind": "magic"}, "kind"),
        ("utility-functions", {"parameters": {"weight": -1}}, "parameters"),
        ("utility-functions", {"parameters": {"weight": 1, "colour": "red"}}, "parameters"),
        ("utility-functions", {"parameters": {"weight": "\x00"}}, "parameters.weight"),
        ("utility-functions", {"parameters": []}, "parameters"),
    ],
)
def test_what_does_not_fit_is_named(api, world: World, path, values, field):
    answer = api.post(f"/api/v1/{path}", BY_PATH[path].new(world, **values), format="json")
    assert answer.status_code == 400, answer.content
    assert fields(answer) == [field]
    assert answer.json()["detail"]
    assert "Constraint" not in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "values", "field"),
    [
        ("brokers", {"capacities": [{"capacity": 1}]}, "capacities[0].resource"),
        ("brokers", {"capacities": [{"resource": "cpu"}]}, "capacities[0].capacity"),
        ("topics", {"node_costs": [{"cost": 1, "resource": "cpu"}]}, "node_costs[0].broker"),
        ("topics", {"rate_min_per_s": 11}, "rate_min_per_s"),
        ("topics", {"recorded_bucket": 30}, "recorded_bucket"),
        ("consumer-classes", {"costs": [{"cost": 1}]}, "costs[0].resource"),
        ("overlays", {"edges": [{}]}, "edges[0].a"),
        ("subscribers", {"interests": [{}]}, "interests[0].topic"),
    ],
)
def test_what_is_missing_in_an_edit_is_named(api, world: World, path, values, field):
    made = api.post(f"/api/v1/{path}", BY_PATH[path].new(world), format="json").json()
    answer = api.patch(
        f"/api/v1/{path}/{made['id']}", values, format="json", headers={"if-match": '"1"'}
    )
    assert answer.status_code == 400, answer.content
    assert field in fields(answer)


def test_infinite_utility_parameter_is_refused(api, world: World):
    body = BY_PATH["utility-functions"].new(world, parameters={"weight": "@"})
    answer = raw(api, "post", "/api/v1/utility-functions", body, "1e400")
    assert answer.status_code == 400
    assert fields(answer) == ["parameters"]


def test_link_joins_two_different_brokers(api, world: World):
    body = BY_PATH["links"].new(world, target=world.reference("broker"))
    answer = api.post("/api/v1/links", body, format="json")
    assert answer.status_code == 400, answer.content
    assert fields(answer) == ["target"]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("b1", "b2"), ("b2", "b3"), ("b3", "b1")], "not a tree: 3 edges over 3 brokers"),
        ([("b1", "b2"), ("b3", "b4")], "not a tree: 2 edges over 4 brokers"),
        ([("b1", "b2"), ("b2", "b3"), ("b3", "b1"), ("b4", "b5")], "cut off"),
    ],
)
def test_overlay_that_is_no_tree_is_refused_and_said_so(api, edges, words):
    system = make_system()
    ids = {}
    for name in ("b1", "b2", "b3", "b4", "b5"):
        body = {"system": str(system.public_id), "name": name, "capacities": []}
        ids[name] = api.post("/api/v1/brokers", body, format="json").json()["id"]
    rows = [{"a": ids[a], "b": ids[b]} for a, b in edges]
    answer = api.post(
        "/api/v1/overlays",
        {"system": str(system.public_id), "name": "ring", "edges": rows},
        format="json",
    )
    assert answer.status_code == 409, answer.content
    assert answer.json()["violated_constraint"] == "overlay_is_a_tree"
    assert words in answer.json()["detail"]


def test_second_overlay_in_force_is_refused(api, world: World):
    kind = BY_PATH["overlays"]
    assert (
        api.post("/api/v1/overlays", kind.new(world, in_force=True), format="json").status_code
        == 201
    )
    answer = api.post("/api/v1/overlays", kind.new(world, "beta", in_force=True), format="json")
    assert answer.status_code in (400, 409)
    assert fields(answer) == ["in_force"]


def test_number_of_a_group_is_taken_once(api, world: World):
    kind = BY_PATH["groups"]
    assert api.post("/api/v1/groups", kind.new(world), format="json").status_code == 201
    answer = api.post("/api/v1/groups", kind.new(world, "beta"), format="json")
    assert fields(answer) == ["number"]


def test_unknown_members_are_refused_and_read_only_ones_change_nothing(api, world: World):
    body = BY_PATH["groups"].new(world, colour="red", version=99, model_version=99)
    refused = api.post("/api/v1/groups", body, format="json")
    assert fields(refused) == ["colour", "model_version"]
    made = api.post("/api/v1/groups", BY_PATH["groups"].new(world, version=99), format="json")
    assert made.status_code == 201
    assert made.json()["version"] == 1


def test_reason_that_a_database_cannot_hold_is_refused(api, world: World):
    address = f"/api/v1/correlation-keys/{world.reference('key')}"
    answer = api.delete(address + "?reason=a%00b", headers={"if-match": '"1"'})
    assert answer.status_code in (204, 400), answer.content


TOO_LONG = "\u677f" * 27 + "abcd"
"""247 bytes in the name of a stream, where NATS has room for 246 of a topic's."""


class TestNamesOfStreams:
    """A name that no broker can carry is refused where it is given."""

    @pytest.mark.parametrize(
        ("path", "values"),
        [
            ("topics", {"name": TOO_LONG, "delivery": "reliable"}),
            ("brokers", {"name": TOO_LONG + "a"}),
        ],
    )
    def test_refused_at_its_field_with_the_next_move(self, api, world: World, path, values):
        answer = api.post(f"/api/v1/{path}", BY_PATH[path].new(world, **values), format="json")
        assert answer.status_code == 400, answer.content
        assert fields(answer) == ["name"]
        assert "bytes in the names of streams" in answer.json()["detail"]
        assert "Shorten it" in answer.json()["detail"]

    def test_refused_when_the_topic_becomes_reliable(self, api, world: World):
        body = BY_PATH["topics"].new(world, name=TOO_LONG, delivery="best_effort")
        made = api.post("/api/v1/topics", body, format="json").json()
        address = f"/api/v1/topics/{made['id']}"
        headers = {"if-match": '"1"'}
        answer = api.patch(address, {"delivery": "reliable"}, format="json", headers=headers)
        assert answer.status_code == 400, answer.content
        assert fields(answer) == ["name"]
        assert api.get(address).json()["delivery"] == "best_effort"
        values = {"delivery": "reliable", "name": TOO_LONG[:-1]}
        assert api.patch(address, values, format="json", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        ("path", "values"),
        [
            ("topics", {"name": TOO_LONG[:-1], "delivery": "reliable"}),
            ("topics", {"name": "\u677f" * 200, "delivery": "best_effort"}),
            ("brokers", {"name": TOO_LONG}),
        ],
    )
    def test_taken_up_to_the_bound(self, api, world: World, path, values):
        answer = api.post(f"/api/v1/{path}", BY_PATH[path].new(world, **values), format="json")
        assert answer.status_code == 201, answer.content

    def test_of_no_concern_where_nothing_is_carried(self, api, world: World):
        """A system that is only modelled has no streams."""
        System.objects.filter(pk=world.system.pk).update(product="kafka")
        body = BY_PATH["topics"].new(world, name=TOO_LONG, delivery="reliable")
        assert api.post("/api/v1/topics", body, format="json").status_code == 201
