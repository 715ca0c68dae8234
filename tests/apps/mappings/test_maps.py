"""Readings of a map over the API, each number against a recount with sets of names."""

import hashlib
import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from apps.common.computing import Queue
from apps.mappings.models import Mapping
from apps.mappings.selectors import maps
from apps.mappings.selectors.maps import map_of
from apps.runs.models import Run, RunResult, Snapshot
from tests.factories import make_system
from weir.clustering.answer import answer
from weir.codec.mapping import (
    choices_from_answer,
    mapping_bytes,
    mapping_from_dict,
    mapping_from_json,
)
from weir.kernel import Call
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db

FLOWS, USERS, STREAMS, GROUPS = 60, 70, 10, 4
COSTS = {"transport": 2.0, "messaging": 1.5, "aggregation": 8.0}


def load(*, mapped: bool) -> dict[str, Any]:
    """A problem in which users want flows near their own place; the last two want nothing."""
    rng = np.random.default_rng(4)
    near = rng.normal(rng.random(USERS)[:, None] * FLOWS, 4, (USERS, 6)).astype(int)
    flows = [f"topic/{at:02}" for at in range(FLOWS)]
    wanted = [sorted({flows[at] for at in row if 0 <= at < FLOWS - 6}) for row in near.tolist()]
    wanted[-2:] = [[], []]
    names = [f"{('Desk', 'straße')[at % 2]} {at:02}" for at in range(USERS)]
    plain: dict[str, Any] = {
        "flows": [
            {"id": name, "rate": round(0.1 * (1 + at % 9), 1)} for at, name in enumerate(flows)
        ],
        "users": [{"id": name, "flows": row} for name, row in zip(names, wanted, strict=True)],
        "max_streams": STREAMS,
        "max_groups": GROUPS,
        "costs": COSTS,
        "move_cost": 0.5,
    }
    if mapped:
        # The last topics had a stream, and nobody wants them; the first had none.
        plain["previous"] = {
            "stream_of": {name: int(rng.integers(0, STREAMS)) for name in flows[3:]},
            "group_of": {str(at): int(rng.integers(0, GROUPS)) for at in range(STREAMS - 1)},
        }
    return plain


def make_mapping(plain: dict[str, Any], **inputs: bool) -> Mapping:
    system = make_system()
    problem = mapping_from_dict(plain)
    payload = mapping_bytes(problem)
    result = answer(payload, Call(inputs={"compare": True, **inputs}))
    snapshot = Snapshot.objects.create(
        system=system,
        kind="mapping",
        model_version=1,
        content_hash=hashlib.sha256(payload).hexdigest(),
        payload=payload,
    )
    run = Run.objects.create(
        kind="mapping",
        system=system,
        snapshot=snapshot,
        method="joint",
        state=RunState.SUCCEEDED,
        finished_at=timezone.now(),
    )
    RunResult.objects.create(
        run=run, payload=result, content_hash=hashlib.sha256(result).hexdigest()
    )
    return Mapping.objects.create(
        run=run,
        number=1,
        system=system,
        method="joint",
        complete=True,
        flows=FLOWS,
        wanted_flows=FLOWS,
        users=USERS,
        interests=len(problem.interests.users),
        streams=STREAMS,
        groups=GROUPS,
        cost=1.0,
        random_cost=2.0,
        moved=0,
        moved_streams=0,
        unwanted_per_s=1.0,
        outcome={},
    )


@pytest.fixture(autouse=True)
def _nothing_is_kept_between_tests() -> Iterator[None]:
    maps._CACHE.entries.clear()
    yield
    maps._CACHE.entries.clear()


@pytest.fixture
def mapping() -> Mapping:
    """A map of a system in which one was in force, with the curve of moves."""
    return make_mapping(load(mapped=True), curve=True)


class Recount:
    """A map as dictionaries of names, and what follows from it."""

    def __init__(self, mapping: Mapping, name: str) -> None:
        plain = json.loads(bytes(mapping.run.snapshot.payload))
        result = json.loads(bytes(mapping.run.result.payload))
        self.rates = {flow["id"]: flow["rate"] for flow in plain["flows"]}
        self.wants = {user["id"]: set(user["flows"]) for user in plain["users"]}
        if name == "in_force":
            stream_of, group_of = (plain["previous"][key] for key in ("stream_of", "group_of"))
        elif name == "":
            stream_of, group_of = result["stream_of"], result["group_of"]
        else:
            problem = mapping_from_dict(plain)
            chosen = choices_from_answer(problem, result).maps[int(name)]
            stream_of = dict(zip(problem.flows, chosen.stream_of.tolist(), strict=True))
            group_of = {str(at): group for at, group in enumerate(chosen.group_of.tolist())}
        self.place = {
            flow: (stream, group_of[str(stream)])
            for flow, stream in stream_of.items()
            if stream >= 0 and str(stream) in group_of
        }

    def groups_of(self, user: str) -> set[int]:
        return {self.place[flow][1] for flow in self.wants[user] if flow in self.place}

    def streams_of(self, user: str) -> set[int]:
        return {self.place[flow][0] for flow in self.wants[user] if flow in self.place}

    def cell(self, user: str, group: int) -> dict[str, float]:
        """What the user gets from the group, if it joins it."""
        sums = {"joined": 0.0, "wanted_per_s": 0.0, "unwanted_per_s": 0.0, "dropped_per_s": 0.0}
        if group not in self.groups_of(user):
            return sums
        sums["joined"] = 1.0
        taken = self.streams_of(user)
        for flow, (stream, where) in self.place.items():
            if where == group:
                kind = "unwanted" if stream in taken else "dropped"
                kind = "wanted" if flow in self.wants[user] else kind
                sums[f"{kind}_per_s"] += self.rates[flow]
        return sums

    def receiver(self, user: str) -> dict[str, Any]:
        cells = [self.cell(user, group) for group in self.groups_of(user)]
        sums = {
            name: sum(cell[name] for cell in cells) for name in ("unwanted_per_s", "dropped_per_s")
        }
        packets = COSTS["transport"] / COSTS["aggregation"]
        return {
            "user": user,
            "flows": len(self.wants[user]),
            "wanted_per_s": sum(self.rates[flow] for flow in self.wants[user]),
            "streams": len(self.streams_of(user)),
            "groups": len(self.groups_of(user)),
            **sums,
            "cost": packets * sums["dropped_per_s"] + COSTS["messaging"] * sums["unwanted_per_s"],
        }


def close(value: Any) -> Any:
    """The value with tolerance for its numbers, however deep."""
    if isinstance(value, dict):
        return {name: close(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [close(each) for each in value]
    return pytest.approx(value, rel=1e-11, abs=1e-12) if isinstance(value, float) else value


def get(api: APIClient, mapping: Mapping, what: str, **query: Any) -> Any:
    response = api.get(f"/api/v1/mappings/{mapping.public_id}/{what}", query)
    assert response.status_code == 200, response.content
    return response.json()


def everything(api: APIClient, mapping: Mapping, what: str, **query: Any) -> list[dict[str, Any]]:
    """All rows, page by page."""
    page = get(api, mapping, what, **query)
    rows = page["results"]
    while page["next"]:
        page = api.get(page["next"]).json()
        rows += page["results"]
    assert len(rows) == page["count"]
    return list(rows)


MAPS = ["", "in_force", "0", "1"]


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("sizes", [{}, {"rows": 7, "columns": 3}, {"rows": 1, "columns": 1}])
def test_heat_is_the_recount(
    api: APIClient, mapping: Mapping, name: str, sizes: dict[str, int]
) -> None:
    heat, expected = get(api, mapping, "heat", map=name, **sizes), Recount(mapping, name)
    used = {group for user in expected.wants for group in expected.groups_of(user)}
    assert sorted(n for column in heat["groups"] for n in column["numbers"]) == sorted(used)
    many = -(-len(used) // sizes.get("columns", 40))
    assert [len(column["numbers"]) for column in heat["groups"]] == [
        min(many, len(used) - begin) for begin in range(0, len(used), many)
    ]
    size = -(-USERS // sizes.get("rows", 50))
    assert [row["users"] for row in heat["rows"]] == [
        min(size, USERS - begin) for begin in range(0, USERS, size)
    ]
    users = maps.map_of(mapping, name)._reception.orders[0].tolist()
    names = sorted(expected.wants)
    blocks = [[names[at] for at in users[at : at + size]] for at in range(0, USERS, size)]
    assert sorted(users) == list(range(USERS))
    for at, (row, block) in enumerate(zip(heat["rows"], blocks, strict=True)):
        receivers = [expected.receiver(user) for user in block]
        unwanted = sum(each["unwanted_per_s"] + each["dropped_per_s"] for each in receivers)
        assert (row["first"], row["last"]) == (block[0], block[-1])
        assert row["unwanted_per_s"] == close(float(unwanted))
        for column, group in enumerate(heat["groups"]):
            cells = [expected.cell(user, each) for user in block for each in group["numbers"]]
            for member in ("joined", "wanted_per_s", "unwanted_per_s", "dropped_per_s"):
                total = float(sum(cell[member] for cell in cells))
                assert float(heat[member][at][column]) == close(total)
    for group in heat["groups"]:
        numbers = set(group["numbers"])
        flows = [flow for flow, (_, at) in expected.place.items() if at in numbers]
        cells = [expected.cell(user, at) for user in expected.wants for at in numbers]
        assert group == close(
            {
                "numbers": group["numbers"],
                "streams": len({expected.place[flow][0] for flow in flows}),
                "flows": len(flows),
                "rate_per_s": float(sum(expected.rates[flow] for flow in flows)),
                "users": int(sum(cell["joined"] for cell in cells)),
                "unwanted_per_s": float(
                    sum(cell["unwanted_per_s"] + cell["dropped_per_s"] for cell in cells)
                ),
            }
        )


@pytest.mark.parametrize("name", MAPS)
def test_receivers_are_the_recount_the_dearest_first(
    api: APIClient, mapping: Mapping, name: str
) -> None:
    expected = Recount(mapping, name)
    rows = everything(api, mapping, "receivers", map=name, page_size=16)
    assert {row["user"] for row in rows} == set(expected.wants)
    for row in rows:
        assert row == close(expected.receiver(row["user"]))
    assert rows == sorted(rows, key=lambda row: (-row["cost"], row["user"]))


@pytest.mark.parametrize("order", ["cost", "-unwanted_per_s", "-dropped_per_s", "-wanted_per_s"])
def test_receivers_in_another_order(api: APIClient, mapping: Mapping, order: str) -> None:
    rows = everything(api, mapping, "receivers", ordering=order)
    member, sign = order.removeprefix("-"), -1 if order.startswith("-") else 1
    assert rows == sorted(rows, key=lambda row: (sign * row[member], row["user"]))


def test_receivers_are_searched_by_words_of_their_names(api: APIClient, mapping: Mapping) -> None:
    rows = everything(api, mapping, "receivers", ordering="user", search="STRASSE 1")
    assert [row["user"] for row in rows] == [
        f"straße {at:02}" for at in range(1, USERS, 2) if "1" in f"{at:02}"
    ]
    assert get(api, mapping, "receivers", search="desk straße")["count"] == 0


@pytest.mark.parametrize("name", MAPS)
def test_one_receiver_shows_its_dearest_unwanted_flows(
    api: APIClient, mapping: Mapping, name: str
) -> None:
    expected = Recount(mapping, name)
    packets = COSTS["transport"] / COSTS["aggregation"]
    for user in sorted(expected.wants):
        wanted = expected.wants[user] & expected.place.keys()
        unwanted = []
        for flow, (stream, group) in expected.place.items():
            if flow in expected.wants[user] or group not in expected.groups_of(user):
                continue
            handed = stream in expected.streams_of(user)
            reasons = [
                each
                for each in wanted
                if expected.place[each][1] == group
                and (not handed or expected.place[each][0] == stream)
            ]
            unwanted.append(
                {
                    "flow": flow,
                    "rate_per_s": expected.rates[flow],
                    "stream": stream,
                    "group": group,
                    "layer": "messaging" if handed else "transport",
                    "cost": expected.rates[flow] * (COSTS["messaging"] if handed else packets),
                    "because": min(reasons, key=lambda each: (-expected.rates[each], each)),
                }
            )
        unwanted.sort(key=lambda row: (-row["cost"], -row["rate_per_s"], row["flow"]))
        assert get(api, mapping, "receivers/one", user=user, map=name) == close(
            {
                **expected.receiver(user),
                "unwanted_flows": len(unwanted),
                "dearest": unwanted[:50],
            }
        )


@pytest.mark.parametrize("name", MAPS)
def test_moves_are_what_differs_from_the_map_in_force(
    api: APIClient, mapping: Mapping, name: str
) -> None:
    before, now = Recount(mapping, "in_force"), Recount(mapping, name)
    none = (None, None)
    expected = [
        {
            "flow": flow,
            "rate_per_s": rate,
            "users": sum(flow in wanted for wanted in now.wants.values()),
            **dict(zip(("from_stream", "from_group"), before.place.get(flow, none), strict=True)),
            **dict(zip(("to_stream", "to_group"), now.place.get(flow, none), strict=True)),
        }
        for flow, rate in now.rates.items()
        if before.place.get(flow) != now.place.get(flow)
    ]
    expected.sort(key=lambda row: (-row["rate_per_s"], row["flow"]))
    rows = everything(api, mapping, "moves", map=name, page_size=7)
    assert rows == expected
    assert (rows == []) == (name == "in_force")
    if name != "in_force":
        assert any(row["from_stream"] is None for row in rows)
        assert any(row["to_stream"] is None for row in rows)
        some = everything(api, mapping, "moves", map=name, search="TOPIC 5")
        assert some == [row for row in expected if "5" in row["flow"]]


def test_without_a_map_in_force_nothing_moves(api: APIClient) -> None:
    fresh = make_mapping(load(mapped=False))
    assert get(api, fresh, "moves") == {"count": 0, "next": None, "previous": None, "results": []}
    assert get(api, fresh, "heat", map="0") == get(api, fresh, "heat")
    for name, words in (
        ("in_force", "No map was in force"),
        ("1", 'no map "1"; give in_force or 0.'),
        ("-1", 'no map "-1"'),
        ("\N{ARABIC-INDIC DIGIT ZERO}", "no map"),
        ("9" * 5000, "no map"),
    ):
        response = api.get(f"/api/v1/mappings/{fresh.public_id}/heat", {"map": name})
        assert response.status_code == 400
        (error,) = response.json()["errors"]
        assert error["field"] == "map"
        assert words in error["message"]


@pytest.mark.parametrize(
    ("what", "query", "field"),
    [
        ("heat", {"rows": 0}, "rows"),
        ("heat", {"rows": 201}, "rows"),
        ("heat", {"columns": "many"}, "columns"),
        ("heat", {"speed": 1}, "speed"),
        ("receivers", {"ordering": "name"}, "ordering"),
        ("receivers", {"map": "99"}, "map"),
        ("receivers", {"speed": 1}, "speed"),
        ("receivers/one", {"user": "Nobody"}, "user"),
        ("receivers/one", {}, "user"),
        ("receivers/one", {"user": "Desk 00", "speed": 1}, "speed"),
        ("moves", {"map": "best"}, "map"),
        ("moves", {"ordering": "flow"}, "ordering"),
    ],
)
def test_bad_parameters_are_named(
    api: APIClient, mapping: Mapping, what: str, query: dict[str, Any], field: str
) -> None:
    response = api.get(f"/api/v1/mappings/{mapping.public_id}/{what}", query)
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


@pytest.mark.parametrize("what", ["heat", "receivers", "moves", "receivers/one?user=x"])
def test_readings_of_no_mapping_are_not_found(api: APIClient, mapping: Mapping, what: str) -> None:
    nobody = mapping.run.public_id
    assert api.get(f"/api/v1/mappings/{nobody}/{what}").status_code == 404


class TestPages:
    """Cursors over rows that were computed."""

    def test_forth_and_back(self, api: APIClient, mapping: Mapping) -> None:
        whole = [row["user"] for row in everything(api, mapping, "receivers", page_size=500)]
        page = get(api, mapping, "receivers", page_size=30)
        assert page["previous"] is None
        users, pages = [], [page]
        while page["next"]:
            page = api.get(page["next"]).json()
            pages.append(page)
        assert [len(page["results"]) for page in pages] == [30, 30, 10]
        for page in pages:
            users += [row["user"] for row in page["results"]]
            assert page["count"] == USERS
        assert users == whole
        back = api.get(page["previous"]).json()
        assert back["results"] == pages[1]["results"]
        assert api.get(back["next"]).json()["results"] == pages[2]["results"]
        first = api.get(back["previous"]).json()
        assert (first["results"], first["previous"]) == (pages[0]["results"], None)

    def test_a_page_back_holds_only_what_stands_before(
        self, api: APIClient, mapping: Mapping
    ) -> None:
        small = get(api, mapping, "receivers", page_size=3)
        second = api.get(small["next"]).json()
        wider = api.get(second["previous"].replace("page_size=3", "page_size=50")).json()
        assert wider["results"] == small["results"]
        assert api.get(wider["next"]).json()["results"][:3] == second["results"]

    def test_the_whole_list_on_one_page(self, api: APIClient, mapping: Mapping) -> None:
        page = get(api, mapping, "receivers", page_size=USERS)
        assert (page["next"], page["previous"], len(page["results"])) == (None, None, USERS)
        assert len(get(api, mapping, "receivers")["results"]) == 50
        assert len(get(api, mapping, "receivers", page_size="x")["results"]) == 50

    def test_an_empty_list(self, api: APIClient, mapping: Mapping) -> None:
        page = get(api, mapping, "receivers", search="nobody")
        assert page == {"count": 0, "next": None, "previous": None, "results": []}

    @pytest.mark.parametrize(
        "cursor",
        [
            *("x", "WzFd", "bnVsbA=="),
            *(
                [backwards, values]
                for backwards in (False, True)
                for values in (
                    *(["-1"], ["71"], ["x"], ["1.0"], [None], [3], [], ["1", "2"], [""]),
                    *(["٣"], ["9" * 5000], {"a": 1}),
                )
            ),
            [False, ["70"]],
            [True, ["0"]],
        ],
    )
    def test_a_bad_cursor_leads_nowhere(
        self, api: APIClient, mapping: Mapping, cursor: Any
    ) -> None:
        if not isinstance(cursor, str):
            cursor = urlsafe_b64encode(json.dumps(cursor).encode()).decode()
        address = f"/api/v1/mappings/{mapping.public_id}/receivers"
        assert api.get(address, {"cursor": cursor}).status_code == 404


class TestCache:
    """What was read is kept, within bounds."""

    def queries(self, mapping: Mapping) -> int:
        with CaptureQueriesContext(connection) as context:
            map_of(Mapping.objects.get(pk=mapping.pk), "").receivers("-cost", "")
        return len(context)

    def test_a_mapping_is_read_once(self, mapping: Mapping) -> None:
        first = self.queries(mapping)
        assert self.queries(mapping) == 1 < first
        assert map_of(mapping, "") is map_of(mapping, "")
        proposed = map_of(mapping, "")
        assert map_of(mapping, "in_force") is not proposed

    def test_the_least_recently_read_goes_first(
        self, mapping: Mapping, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        others = [Mapping(run=mapping.run) for _ in range(2)]
        assert len({each.public_id for each in (mapping, *others)}) == 3
        map_of(mapping, "")
        size = maps._CACHE.size
        monkeypatch.setattr(maps, "MOST_KEPT", 2 * size)
        map_of(others[0], "")
        map_of(mapping, "")
        map_of(others[1], "")
        assert list(maps._CACHE.entries) == [mapping.public_id, others[1].public_id]
        monkeypatch.setattr(maps, "MOST_KEPT", 1)
        map_of(others[0], "")
        assert list(maps._CACHE.entries) == [others[0].public_id]

    def test_requests_at_once_read_it_once(
        self, mapping: Mapping, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls, started = [], threading.Barrier(6)

        def slowly(payload: bytes) -> Any:
            calls.append(payload)
            return mapping_from_json(payload)

        monkeypatch.setattr(maps, "mapping_from_json", slowly)
        assert mapping.run.snapshot.payload
        assert mapping.run.result.payload
        results: list[Any] = []

        def look(name: str) -> None:
            started.wait()
            results.append(map_of(mapping, name).receivers("-cost", "")[0])

        threads = [
            threading.Thread(target=look, args=(name,)) for name in ("", "in_force", "0") * 2
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(calls), len(results)) == (1, 6)

    def test_who_waits_too_long_may_try_again(
        self, api: APIClient, mapping: Mapping, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        busy = Queue("Another mapping is being read.", wait_s=0.01)
        monkeypatch.setattr(maps, "_LOADS", busy)
        busy.free.acquire()
        for what in ("heat", "receivers", "moves", "receivers/one?user=Desk 00"):
            response = api.get(f"/api/v1/mappings/{mapping.public_id}/{what}")
            assert response.status_code == 429
            assert response.json()["code"] == "busy"
        busy.free.release()
        assert get(api, mapping, "heat")["rows"]
