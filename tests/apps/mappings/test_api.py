"""Mappings over the API: asked for, listed, read map by map, and refused."""

import json
from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.catalog.models import Stream
from apps.mappings.models import Mapping
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from tests.factories import make_system
from tests.factories.market import (
    GROUPS,
    QUICK,
    STREAMS,
    Market,
    in_turn,
    kernel_answer,
    make_market,
    map_market,
)
from tests.factories.runs import claim
from weir.clustering import clusterers

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/mappings"


@pytest.fixture
def market() -> Market:
    return make_market()


@pytest.fixture
def mapping(market: Market) -> Mapping:
    """From a map in force that leaves much to gain."""
    in_turn(market)
    return map_market(market, note="For the test")


def ask(api: Any, market: Market, **values: Any) -> Any:
    return api.post(ADDRESS, {"system": str(market.system.public_id), **values}, format="json")


def get(api: Any, mapping: Mapping, path: str = "", **query: Any) -> Any:
    answer = api.get(f"{ADDRESS}/{mapping.public_id}{path}", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def refused(api: Any, mapping: Mapping, path: str, **query: Any) -> str:
    """The field of the only error."""
    answer = api.get(f"{ADDRESS}/{mapping.public_id}{path}", query)
    assert answer.status_code == 400, answer.content
    (error,) = answer.json()["errors"]
    return str(error["field"])


class TestRequest:
    def test_opens_a_run(self, api, market):
        answer = ask(api, market, note="New season", time_limit_s=60, seed=3, parameters=QUICK)
        assert answer.status_code == 202, answer.content
        run = Run.objects.get(public_id=answer.json()["id"])
        assert (run.kind, run.method, run.state) == ("mapping", "joint", "queued")
        assert (run.seed, run.time_limit_s, run.parameters) == (3, 60.0, QUICK)
        assert answer.headers["Location"] == f"/api/v1/runs/{run.public_id}"

    def test_is_carried_out_and_published(self, api, market, django_capture_on_commit_callbacks):
        ask(api, market, parameters=QUICK)
        run = claim(Run.objects.get())
        answer = kernel_answer(run)
        with django_capture_on_commit_callbacks() as after:
            run_store(run, answer)
        mapping = Mapping.objects.get()
        news = [json.loads(callback.args[0]) for callback in after]
        assert {
            "kind": "mapping",
            "id": str(mapping.public_id),
            "system": str(market.system.public_id),
        } in news
        shown = api.get(f"/api/v1/runs/{run.public_id}").json()
        assert (shown["state"], shown["answer"]["name"]) == ("succeeded", "M-1")

    def test_is_refused_with_what_to_do(self, api, market):
        Stream.objects.filter(number=3).update(number=30)
        answer = ask(api, market)
        assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_map")
        assert answer.json()["detail"].startswith("No stream has the number 3;")
        assert answer.json()["errors"][0]["field"] == "system"
        assert not Run.objects.exists()

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"method": "magic"}, "method"),
            ({"parameters": {"effort": "much"}}, "parameters.effort"),
            ({"parameters": []}, "parameters"),
            ({"seed": -1}, "seed"),
            ({"time_limit_s": 0}, "time_limit_s"),
            ({"system": "nowhere"}, "system"),
            ({"topic": "m1/00"}, "topic"),
        ],
    )
    def test_is_refused_at_its_field(self, api, market, values, field):
        answer = ask(api, market, **values)
        assert answer.status_code == 400, answer.content
        assert answer.json()["errors"][0]["field"] == field

    def test_is_for_editors(self, as_role, market):
        assert ask(as_role(Role.VIEWER), market).status_code == 403
        assert ask(as_role(Role.EDITOR), market).status_code == 202

    def test_with_the_same_key_is_the_same_run(self, api, market):
        body = {"system": str(market.system.public_id)}
        headers = {"Idempotency-Key": "one"}
        first, second = (
            api.post(ADDRESS, body, format="json", headers=headers).json()["id"] for _ in range(2)
        )
        assert first == second
        assert Run.objects.count() == 1


class TestList:
    def test_is_newest_first_and_filtered(self, api, market, mapping):
        later = map_market(market, method="flat")
        other = map_market(make_market("another"))
        rows = api.get(ADDRESS).json()["results"]
        assert [row["id"] for row in rows] == [str(m.public_id) for m in (other, later, mapping)]
        for name, value, count in (
            ("system", market.system.public_id, 2),
            ("run", later.run.public_id, 1),
            ("method", "flat", 1),
            ("method", "iterative", 0),
            ("search", "for the test", 1),
            ("search", "another", 1),
        ):
            assert api.get(ADDRESS, {name: value}).json()["count"] == count, (name, value)
        by_cost = [row["cost"] for row in api.get(ADDRESS, {"ordering": "cost"}).json()["results"]]
        assert by_cost == sorted(by_cost)

    def test_has_the_figures_and_no_outcome(self, api, mapping):
        (row,) = api.get(ADDRESS).json()["results"]
        assert (row["name"], row["system_name"], row["complete"]) == ("M-1", "market", True)
        for name in ("cost", "former_cost", "random_cost", "moved", "moved_streams", "interests"):
            assert row[name] == getattr(mapping, name), name
        assert row["allowed_commands"] == ["rerun", "plan"]
        assert "outcome" not in row

    def test_does_not_ask_once_for_each_row(self, api, market, django_assert_max_num_queries):
        for _ in range(3):
            map_market(market)
        with django_assert_max_num_queries(12):
            api.get(ADDRESS)

    def test_one_is_read_with_its_outcome(self, api, mapping):
        row = get(api, mapping)
        assert row["outcome"] == mapping.outcome
        assert (row["note"], row["parameters"]) == ("For the test", QUICK)
        assert row["model_version"] == mapping.run.snapshot.model_version


class TestMaps:
    """The same map is meant by every address, and its figures agree."""

    def maps(self, mapping: Mapping) -> list[tuple[str, dict[str, Any]]]:
        outcome = mapping.outcome
        (in_force,) = [row for row in outcome["compared"] if row["map"] == "in_force"]
        points = [(str(at), point) for at, point in enumerate(outcome["points"])]
        return [("", outcome["points"][outcome["proposed"]]), ("in_force", in_force), *points]

    def test_receivers_add_up_to_what_the_map_costs(self, api, mapping):
        for name, costs in self.maps(mapping):
            rows = get(api, mapping, "/receivers", map=name, page_size=100)["results"]
            assert len(rows) == mapping.users
            for member in ("cost", "unwanted_per_s", "dropped_per_s"):
                total = sum(row[member] for row in rows)
                assert total == pytest.approx(costs[member], rel=1e-9), (name, member)
            by_cost = [row["cost"] for row in rows]
            assert by_cost == sorted(by_cost, reverse=True)

    def test_heat_adds_up_to_what_the_map_costs(self, api, mapping):
        for name, costs in self.maps(mapping):
            heat = get(api, mapping, "/heat", map=name, rows=4, columns=2)
            assert len(heat["rows"]) <= 4
            assert len(heat["groups"]) <= 2
            assert sum(row["users"] for row in heat["rows"]) == mapping.users
            for member in ("unwanted_per_s", "dropped_per_s"):
                total = sum(sum(row) for row in heat[member])
                assert total == pytest.approx(costs[member], rel=1e-9), (name, member)

    def test_moves_are_those_that_are_counted(self, api, market, mapping):
        for at, point in enumerate(mapping.outcome["points"]):
            rows = get(api, mapping, "/moves", map=str(at), page_size=100)["results"]
            changes = [row for row in rows if None not in (row["from_stream"], row["to_stream"])]
            streams = [row for row in changes if row["from_stream"] != row["to_stream"]]
            assert len(streams) == point["moved"]
            rates = [row["rate_per_s"] for row in rows]
            assert rates == sorted(rates, reverse=True)
        assert get(api, mapping, "/moves", map="in_force")["count"] == 0
        name = rows[0]["flow"]
        found = get(api, mapping, "/moves", map=str(at), search=name)["results"]
        assert [row["flow"] for row in found] == [name]

    def test_a_receiver_is_read_with_the_flows_that_it_filters(self, api, mapping):
        dearest = get(api, mapping, "/receivers")["results"][0]
        one = get(api, mapping, "/receivers/one", user=dearest["user"])
        assert {name: one[name] for name in dearest} == dearest
        assert one["unwanted_flows"] >= len(one["dearest"]) > 0
        costs = [row["cost"] for row in one["dearest"]]
        assert costs == sorted(costs, reverse=True)
        assert sum(costs) <= one["cost"] * (1 + 1e-9)

    def test_receivers_are_ordered_by_every_figure_both_ways(self, api, mapping):
        for name in ("cost", "unwanted_per_s", "dropped_per_s", "wanted_per_s", "user"):
            up, down = (
                [row[name] for row in get(api, mapping, "/receivers", ordering=order)["results"]]
                for order in (name, f"-{name}")
            )
            assert up == sorted(up)
            assert down == sorted(up, reverse=True)

    def test_pages_hold_every_receiver_once_forth_and_back(self, api, mapping):
        every = [row["user"] for row in get(api, mapping, "/receivers")["results"]]
        page = get(api, mapping, "/receivers", page_size=4)
        assert (page["count"], page["previous"]) == (9, None)
        seen = [page]
        while seen[-1]["next"]:
            seen.append(api.get(seen[-1]["next"]).json())
        assert [row["user"] for each in seen for row in each["results"]] == every
        back = api.get(seen[-1]["previous"]).json()
        assert back["results"] == seen[-2]["results"]
        assert api.get(back["previous"]).json()["results"] == page["results"]

    def test_what_is_asked_of_a_map_that_is_not_there_is_refused(self, api, market, mapping):
        for name in ("99", "-1", "nonsense", "1.0"):
            assert refused(api, mapping, "/heat", map=name) == "map"
            assert refused(api, mapping, "/receivers", map=name) == "map"
            assert refused(api, mapping, "/moves", map=name) == "map"
        assert refused(api, mapping, "/receivers/one", user="nobody") == "user"
        assert refused(api, mapping, "/receivers/one") == "user"
        assert refused(api, mapping, "/heat", rows=0) == "rows"
        assert refused(api, mapping, "/heat", columns=201) == "columns"
        assert refused(api, mapping, "/heat", colums=2) == "colums"
        assert refused(api, mapping, "/receivers", ordering="name") == "ordering"
        Mapping.objects.all().delete()
        assert api.get(f"{ADDRESS}/{mapping.public_id}/moves").status_code == 404

    def test_without_a_map_in_force_there_is_none_to_read(self, api, market):
        mapping = map_market(market)
        assert refused(api, mapping, "/heat", map="in_force") == "map"
        assert get(api, mapping, "/moves")["count"] == 0

    def test_everybody_reads_them(self, as_role, mapping):
        viewer = as_role(Role.VIEWER)
        for path in ("", "/heat", "/receivers", "/moves"):
            assert viewer.get(f"{ADDRESS}/{mapping.public_id}{path}").status_code == 200


def test_methods_are_listed_with_their_parameters(api):
    rows = api.get("/api/v1/mapping-methods").json()["results"]
    assert [row["name"] for row in rows] == sorted(clusterers())
    assert [row["name"] for row in rows if row["is_default"]] == ["joint"]
    (joint,) = [row for row in rows if row["name"] == "joint"]
    assert {each["name"] for each in joint["parameters"]} >= {"effort", "restarts"}


class TestMappable:
    def test_says_what_would_be_mapped(self, api, market):
        body = api.get("/api/v1/mappable", {"system": str(market.system.public_id)}).json()
        assert (body["flows"], body["wanted_flows"]) == (48, len(market.wanted))
        assert (body["streams"], body["groups"], body["because"]) == (STREAMS, GROUPS, "")

    def test_says_why_nothing_can_be(self, api):
        system = make_system("empty")
        body = api.get("/api/v1/mappable", {"system": str(system.public_id)}).json()
        assert body["because"] == (
            "empty has no topics yet. Add the topics that streams shall carry."
        )

    def test_needs_a_system(self, api):
        for query in ({}, {"system": "nonsense"}, {"sytem": "x"}):
            assert api.get("/api/v1/mappable", query).status_code == 400
