"""`manage.py map_flows`: exit statuses, maps, both engines, and what bad input gets."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from tests.weir.clustering import in_turn
from tests.weir.clustering.problems import plain
from weir.clustering import DEFAULT, clusterers, joint
from weir.clustering.cost import filtering_cost
from weir.clustering.loads import MarketShape, drifted, market_load
from weir.codec.mapping import mapping_bytes, mapping_from_dict, mapping_result_to_dict
from weir.model.mapping import NOWHERE


@pytest.fixture
def _method(monkeypatch):
    monkeypatch.setitem(clusterers(), in_turn.NAME, in_turn)


def map_flows(
    folder: Path, text: Any, *options: str, method: str = in_turn.NAME
) -> tuple[int, str, Path]:
    """Return exit status, standard error and the path of the result."""
    source, out = folder / "in.json", folder / "out.json"
    source.write_text(text if isinstance(text, str) else json.dumps(text))
    errors = io.StringIO()
    status = 0
    try:
        call_command(
            *("map_flows", str(source), "--out", str(out), "--method", method, *options),
            stderr=errors,
        )
    except SystemExit as end:
        status = int(end.code or 0)
    return status, errors.getvalue(), out


@pytest.mark.usefixtures("_method")
def test_a_map_is_written_with_its_cost_in_one_line(tmp_path):
    text = plain([1.0, 2.0, 4.0], [[0, 2], [1]], streams=2, groups=2)
    status, errors, out = map_flows(tmp_path, text)
    assert status == 0
    result = json.loads(out.read_bytes())
    assert result["stream_of"] == {"f0000": 0, "f0001": 1, "f0002": 0}
    assert (result["status"], result["cost"], result["moved"]) == ("solved", 0.0, 0)
    line = "map_flows: cost 0 work/s (transport 0, messaging 0), 0 of a random map's\n"
    assert errors == line


@pytest.mark.usefixtures("_method")
def test_moves_unwanted_flows_and_the_dearest_pin_are_said(tmp_path):
    more = {
        "previous": {"stream_of": {"f0000": 1, "f0002": 0}, "group_of": {"0": 1, "1": 1}},
        "pins": {"flow_to_stream": {"f0001": 0}},
    }
    text = plain([1.0, 2.0, 4.0, 1.0], [[0, 2], [1]], streams=2, groups=2, more=more)
    status, errors, out = map_flows(tmp_path, text)
    # All in stream 0: each user gets what the other one wants.
    assert (status, json.loads(out.read_bytes())["cost"]) == (0, 2.0 + 5.0)
    lines = errors.splitlines()
    assert lines[0].startswith("map_flows: cost 7 work/s (transport 0, messaging 7), ")
    assert lines[0].endswith(" of a random map's")
    assert lines[1:] == [
        "map_flows: moved since the previous map: 1 flow and 1 stream",
        "map_flows: not mapped: 1 flow that nobody wants",
        "map_flows: the dearest pin is that of flow f0001: it costs 7 work/s",
    ]


@pytest.mark.usefixtures("_method")
def test_a_time_limit_reaches_the_method(tmp_path):
    text = plain([1.0], [[0]])
    status, errors, out = map_flows(tmp_path, text, "--time-limit", "1e-9")
    assert (status, json.loads(out.read_bytes())["status"]) == (0, "time_limit")
    assert "map_flows: stopped by the time limit: this is the best map so far\n" in errors
    status, errors, out = map_flows(tmp_path, text, "--time-limit", "600")
    assert (status, json.loads(out.read_bytes())["status"]) == (0, "solved")


@pytest.mark.usefixtures("_method")
def test_a_map_of_flows_that_nobody_wants_is_empty(tmp_path):
    status, errors, out = map_flows(tmp_path, plain([1.0, 2.0], [[]]))
    assert status == 0
    assert json.loads(out.read_bytes())["stream_of"] == {}
    assert errors.splitlines() == [
        "map_flows: cost 0 work/s (transport 0, messaging 0)",
        "map_flows: not mapped: 2 flows that nobody wants",
    ]


@pytest.mark.usefixtures("_method")
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("flows[0].rate", lambda text: text["flows"][0].update(rate=-1)),
        ("users[0].flows[0]", lambda text: text["users"][0].update(flows=["f99"])),
        (
            "pins.flow_to_stream.f0000",
            lambda text: text["pins"].update(flow_to_stream={"f0000": 9}),
        ),
        ("max_groups", lambda text: text.update(max_groups=0)),
    ],
)
def test_bad_input_is_status_2_and_writes_nothing(tmp_path, field, change):
    text = plain([1.0], [[0]], more={"pins": {}})
    change(text)
    status, errors, out = map_flows(tmp_path, text)
    assert status == 2
    assert errors.startswith(f"map_flows: {field}: ")
    assert errors.count("\n") == 1
    assert not out.exists()


@pytest.mark.usefixtures("_method")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "best"], "known are "),
        (["--param", "speed=1"], 'unknown key "speed"'),
        (["--time-limit", "0"], "--time-limit: must be above 0 seconds"),
        (["--seed", "-1"], "--seed: must be 0 or more"),
    ],
)
def test_options_that_do_not_fit_are_status_2(tmp_path, options, words):
    status, errors, out = map_flows(tmp_path, plain([1.0], [[0]]), *options)
    assert (status, errors.count("\n")) == (2, 1)
    assert words in errors
    assert not out.exists()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("param", ["restarts=1", "restarts=3", "rounds=3"])
def test_both_engines_give_the_same_bytes(spark_server, tmp_path, settings, param):
    settings.WEIR_DATA_DIR = tmp_path / "data"
    wanted = [[at, (7 * at) % 40, 39 - at] for at in range(1, 19)]
    text = plain([float(1 + at % 9) for at in range(40)], wanted, streams=8, groups=3)
    status, _, local = map_flows(tmp_path, text, "--param", param, method=DEFAULT)
    assert status == 0
    expected = local.read_bytes()
    local.unlink()
    status, _, on_spark = map_flows(
        tmp_path, text, "--engine", "spark", "--param", param, method=DEFAULT
    )
    assert status == 0
    assert on_spark.read_bytes() == expected


def market_with_former_map() -> dict[str, Any]:
    """Return a small market whose interests drifted since its map was made."""
    problem = market_load(1, MarketShape(flows=1000, users=60), max_streams=60, max_groups=8)
    never = lambda: False  # noqa: E731
    made = joint.cluster(problem, joint.Params(), seed=0, stop=never, report=lambda _: None)
    text: dict[str, Any] = json.loads(mapping_bytes(drifted(problem, 0.2, seed=1)))
    result = mapping_result_to_dict(problem, made)
    text["previous"] = {name: result[name] for name in ("stream_of", "group_of")}
    return text


def test_the_curve_holds_maps_that_cost_less_the_more_is_moved(tmp_path):
    text, curve = market_with_former_map(), tmp_path / "curve.json"
    status, errors, out = map_flows(tmp_path, text, "--curve", str(curve), method=DEFAULT)
    assert (status, "curve" in json.loads(out.read_bytes())) == (0, False), errors
    points = json.loads(curve.read_bytes())["curve"]
    assert (points[0]["move_cost"], points[0]["moved"], points[0]["moved_streams"]) == (None, 0, 0)
    costs = [point["cost"] for point in points]
    assert len(costs) > 3
    assert costs == sorted(costs, reverse=True)
    problem = mapping_from_dict(text)
    for point in points:
        # A point says what changes: the former map with that is the map whose cost it tells.
        stream_of = {**text["previous"]["stream_of"], **point["stream_of"]}
        group_of = {**text["previous"]["group_of"], **point["group_of"]}
        streams = np.array([stream_of.get(flow, NOWHERE) for flow in problem.flows])
        streams[problem.interests.audiences == 0] = NOWHERE
        groups = np.array([group_of.get(str(at), NOWHERE) for at in range(problem.max_streams)])
        assert filtering_cost(problem, streams, groups).total == point["cost"]
        before = text["previous"]["stream_of"]
        assert point["moved"] == sum(flow in before for flow in point["stream_of"])


def test_a_curve_is_refused_where_there_is_none(tmp_path):
    text, curve = market_with_former_map(), tmp_path / "curve.json"
    status, errors, _ = map_flows(tmp_path, text, "--curve", str(curve), method="groups-first")
    assert (status, "--curve: only the method joint" in errors) == (2, True)
    status, errors, out = map_flows(
        tmp_path, text, "--curve", str(tmp_path / "out.json"), method=DEFAULT
    )
    assert (status, "--curve" in errors, out.exists()) == (2, True, False)
    for same in (tmp_path / "." / "out.json", tmp_path / "in.json"):
        named = str(same).replace("/out", "/./out")
        status, errors, out = map_flows(tmp_path, text, "--curve", named, method=DEFAULT)
        assert (status, "names the same file" in errors, out.exists()) == (2, True, False)
        assert json.loads((tmp_path / "in.json").read_bytes()) == text
    del text["previous"]
    status, errors, out = map_flows(tmp_path, text, "--curve", str(curve), method=DEFAULT)
    assert (status, "previous: a curve begins at the map in force" in errors) == (2, True)
    assert not curve.exists()
    assert not out.exists()
