"""The job `cluster`: the answer of one process to the last byte, however it is spread."""

import json
import time

import numpy as np
import pytest

from spark_tasks import entry
from spark_tasks.jobs.cluster import cheapest_of, search
from spark_tasks.mapping_blocks import read_shared, write_shared
from tests.spark_tasks.house import House
from tests.spark_tasks.orders import order
from tests.weir.clustering.problems import plain
from weir.clustering import answer
from weir.clustering.blocks import Shared
from weir.kernel import Call


def text(flows=400, users=40, **more):
    """A load in which users want flows near their own place, and some far away."""
    rng = np.random.default_rng(7)
    rates = (1.0 + rng.integers(0, 50, flows)).tolist()
    near = rng.normal(rng.random(users)[:, None] * flows, flows / 20, (users, 12)).astype(int)
    far = rng.integers(0, flows, (users, 4))
    wanted = [sorted(set(row)) for row in (np.hstack([near, far]) % flows).tolist()]
    return json.dumps(plain(rates, wanted, streams=30, groups=8, more=more)).encode()


def here(payload, **asked):
    return answer.answer(payload, Call(method="joint", **asked))


PINS = {"flow_to_stream": {"f0010": 3, "f0200": 3}, "stream_to_group": {"3": 2, "5": 1}}


def test_what_blocks_are_cut_from_comes_back_as_it_was_written(tmp_path):
    shared = Shared(
        rates=np.array([1.5, 0.1]),
        starts=np.array([0, 2, 3]),
        users=np.array([0, 2, 1], dtype=np.int32),
        user_count=3,
        fixed=np.array([True, False]),
        pinned_group=np.array([-1, 4, -1]),
        groups=5,
        weights=(-0.75, 0.25),
    )
    names: set[str] = set()
    name = write_shared(tmp_path.as_uri(), shared, names)
    assert names == {name}
    back = read_shared(tmp_path.as_uri(), name)
    for field, value in shared._asdict().items():
        assert np.array_equal(getattr(back, field), value), field
        if isinstance(value, np.ndarray):
            assert getattr(back, field).dtype == value.dtype, field
    other = write_shared(tmp_path.as_uri(), shared._replace(weights=(0.75, 0.25)), names)
    assert other != name


def row(number, charged, *, complete=True, error=None, compared=None):
    payload = json.dumps({"number": number, "status": "solved"}).encode()
    return {
        "number": number,
        "charged": charged,
        "complete": complete,
        "payload": payload,
        "compared": compared,
        "error": error,
    }


def test_cheapest_search_wins_and_of_equal_ones_the_first():
    chosen = cheapest_of([row(2, 1.0), row(1, 1.0), row(0, 2.0)])
    assert json.loads(chosen["payload"]) == {"number": 1, "status": "solved"}
    chosen = cheapest_of([row(0, 2.0, complete=False), row(1, 1.0)])
    assert json.loads(chosen["payload"]) == {"number": 1, "status": "time_limit"}
    chosen = cheapest_of([row(0, 2.0, error="b: x"), row(1, 1.0, error="a: x")])
    assert chosen == {"payload": None, "error": "a: x"}


def test_what_the_first_search_compared_goes_with_the_cheapest_map():
    first = row(0, 2.0, compared=b'{"flat": {"cost": 3.0}}')
    chosen = cheapest_of([row(1, 1.0), first])
    both = {"number": 1, "status": "solved", "flat": {"cost": 3.0}}
    assert json.loads(chosen["payload"]) == both
    chosen = cheapest_of([first, row(1, 1.0), row(2, 4.0, complete=False)])
    assert json.loads(chosen["payload"]) == {**both, "status": "time_limit"}


def test_only_the_first_search_compares_and_the_answer_is_that_of_one_process():
    payload, parameters = text(), {"effort": 1.0, "restarts": 3}
    asked = order(method="joint", parameters=parameters, seed=2, compare=True)
    rows = [search(payload, asked, number, 1) for number in range(3)]
    assert [row["compared"] is None for row in rows] == [False, True, True]
    expected = here(payload, parameters=parameters, seed=2, inputs={"compare": True})
    assert cheapest_of(rows) == {"payload": expected, "error": None}
    assert {"flat", "random"} <= json.loads(expected).keys()


def test_a_core_shares_the_time_among_the_searches_that_it_does_in_turn():
    asked = order(parameters={"effort": 1e5}, time_limit_s=1.0)
    search(text(), order(parameters={"effort": 0.1}), 0, 1)  # compiles
    began_s = time.monotonic()
    stopped = search(text(), asked, 1, 4)
    assert 0.25 <= time.monotonic() - began_s < 0.9
    assert not stopped["complete"]
    assert json.loads(stopped["payload"])["status"] == "time_limit"


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    """Through the one door."""

    def run(self, remote, payload, folder, **asked):
        return entry.run(
            remote=remote,
            job="cluster",
            tag="t",
            payload=payload,
            input_uri=(folder / "in").as_uri(),
            output_uri=(folder / "out").as_uri(),
            order=order(**{"method": "joint", **asked}),
        )

    @pytest.mark.parametrize(
        "parameters",
        [
            {"effort": 5},
            {"effort": 5, "restarts": 3},
            {"effort": 5, "rounds": 3, "parts": 3},
            {"effort": 5, "rounds": 2, "parts": 2, "restarts": 2},
        ],
    )
    def test_answer_is_that_of_one_process(self, spark_server, tmp_path, parameters):
        payload = text(pins=PINS)
        asked = {"parameters": parameters, "seed": 4}
        expected = here(payload, **asked, inputs={"compare": True})
        assert self.run(spark_server, payload, tmp_path, **asked, compare=True) == expected
        assert json.loads(expected)["status"] == "solved"

    @pytest.mark.parametrize("parameters", [{"rounds": 2, "parts": 2}, {"restarts": 2}])
    @pytest.mark.parametrize("inputs", [{}, {"curve": True}, {"curve": True, "compare": True}])
    def test_former_map_is_kept_in_mind(self, spark_server, tmp_path, parameters, inputs):
        payload = text()
        former = json.loads(here(payload, parameters={"effort": 1}))
        previous = {name: former[name] for name in ("stream_of", "group_of")}
        payload = text(previous=previous, move_cost=20.0, pins=PINS)
        asked = {"parameters": {"effort": 5, **parameters}, "seed": 1}
        answer = self.run(spark_server, payload, tmp_path, **asked, **inputs)
        assert answer == here(payload, **asked, inputs=inputs)
        assert json.loads(answer)["moved"] > 0
        members = json.loads(answer).keys()
        assert ("curve" in members) == ("curve" in inputs)
        assert ("flat" in members) == ("random" in members) == ("compare" in inputs)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"effort": 1e5},
            {"effort": 1e5, "restarts": 3},
            {"effort": 1e5, "rounds": 3, "parts": 2},
        ],
    )
    def test_stop_gives_the_best_so_far(self, spark_server, tmp_path, parameters, monkeypatch):
        with House(enough=2) as house:
            stopped = self.run(
                spark_server,
                text(pins=PINS),
                tmp_path,
                parameters=parameters,
                progress_url=house.url,
                progress_token="secret",
            )
        so_far = json.loads(stopped)
        assert so_far["status"] == "time_limit"
        assert 0 < so_far["cost"] < so_far["random_cost"]
        assert 0 < house.rows[0]["done"] < house.rows[0]["total"]

    def test_time_limit_ends_rounds(self, spark_server, tmp_path):
        parameters = {"effort": 1e5, "rounds": 3, "parts": 4}
        began_s = time.monotonic()
        late = self.run(spark_server, text(), tmp_path, parameters=parameters, time_limit_s=3.0)
        assert 3.0 <= time.monotonic() - began_s < 30.0
        assert json.loads(late)["status"] == "time_limit"

    @pytest.mark.parametrize("parameters", [{}, {"restarts": 2}, {"rounds": 2}])
    def test_refusal_names_the_field(self, spark_server, tmp_path, parameters):
        bad = text(pins={"flow_to_stream": {"f0001": 99}})
        with pytest.raises(entry.JobError, match=r"^pins\.flow_to_stream"):
            self.run(spark_server, bad, tmp_path, parameters=parameters)

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            ({"parameters": {"restarts": 0}}, "restarts"),
            ({"parameters": {"speed": 1}}, 'unknown key "speed"'),
            ({"method": "gut"}, 'no method "gut" for mappings'),
        ],
    )
    def test_bad_orders_are_refused(self, spark_server, tmp_path, asked, words):
        with pytest.raises(entry.JobError, match=words):
            self.run(spark_server, text(), tmp_path, **asked)
