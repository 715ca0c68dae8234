"""The kernel of one call: what goes to the method, what comes back, and maps that do not hold."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.weir.clustering import in_turn
from tests.weir.clustering.problems import plain, problem
from weir.clustering import answer as kernel
from weir.clustering import clusterers, flat
from weir.clustering.answer import answer, fault_of
from weir.clustering.cost import filtering_cost, random_filtering
from weir.codec.mapping import choices_from_answer, mapping_from_json
from weir.errors import InvalidProblem, UnknownMethod, WeirError
from weir.kernel import Call
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem


@pytest.fixture
def method(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A method of its own for each test, which may break it."""
    module = SimpleNamespace(NAME=in_turn.NAME, Params=in_turn.Params, cluster=in_turn.cluster)
    monkeypatch.setitem(clusterers(), in_turn.NAME, module)
    return module


def text(**more: Any) -> bytes:
    return json.dumps(
        plain([1.0, 2.0, 4.0, 8.0, 16.0], [[0, 2], [0, 3], [4]], streams=3, groups=2, **more)
    ).encode()


def test_the_answer_is_the_map_with_its_costs(method: SimpleNamespace) -> None:
    previous = {"stream_of": {"f0000": 2, "f0002": 1, "f0003": 0}, "group_of": {"0": 1, "1": 1}}
    pins = {"flow_to_stream": {"f0000": 0, "f0001": 1}, "stream_to_group": {"2": 1}}
    payload = text(more={"previous": previous, "pins": pins})
    reports: list[Any] = []
    result = json.loads(answer(payload, Call(method="in-turn", report=reports.append)))
    # Streams {f0000, f0004}, {f0002} and {f0003}; groups {0} and {1, 2}. f0001 has no audience.
    assert result == {
        "status": "solved",
        "stream_of": {"f0000": 0, "f0002": 1, "f0003": 2, "f0004": 0},
        "group_of": {"0": 0, "1": 1, "2": 1},
        "transport_cost": 0.25 * (4.0 + 8.0),
        "messaging_cost": 16.0 + 16.0 + 1.0,
        "cost": 36.0,
        "random_cost": result["random_cost"],
        "moved": 2,
        "moved_streams": 1,
        # With f0000 in stream 1 its users get 8 at the transport, and 4 at the messaging layer.
        "pin_prices": {
            "flow_to_stream": {"f0000": 36.0 - (0.25 * 8.0 + 4.0), "f0001": 0.0},
            "stream_to_group": {"2": 0.0},
        },
    }
    assert reports == [{"done": 1, "total": 1, "cost": 0.0}]


def test_seed_parameters_and_stop_reach_the_method(method: SimpleNamespace) -> None:
    call = Call(method="in-turn", seed=1, parameters={"first": 1}, stop=lambda: True)
    result = json.loads(answer(text(), call))
    assert result["status"] == "time_limit"
    assert result["stream_of"] == {"f0000": 2, "f0002": 0, "f0003": 1, "f0004": 2}


def test_bad_problems_methods_and_parameters_are_refused(method: SimpleNamespace) -> None:
    with pytest.raises(InvalidProblem, match=r"^max_streams: "):
        answer(text(more={"max_streams": 0}), Call(method="in-turn"))
    with pytest.raises(UnknownMethod, match='no method "best" for mappings'):
        answer(text(), Call(method="best"))
    with pytest.raises(InvalidProblem, match='unknown key "speed"'):
        answer(text(), Call(method="in-turn", parameters={"speed": 1}))


def test_a_method_that_breaks_a_pin_is_named(method: SimpleNamespace) -> None:
    def elsewhere(*given: Any, **named: Any) -> FlowMap:
        flow_map = in_turn.cluster(*given, **named)
        return replace(flow_map, stream_of=np.where(flow_map.stream_of == 0, 2, flow_map.stream_of))

    method.cluster = elsewhere
    payload = text(more={"pins": {"flow_to_stream": {"f0000": 0}}})
    with pytest.raises(WeirError, match=r'^in-turn gave a map .*: flow "f0000" is not where it is'):
        answer(payload, Call(method="in-turn"))


def large_text(**more: Any) -> bytes:
    """Return a problem in which users want flows near their own place."""
    rng = np.random.default_rng(5)
    rates = (1.0 + rng.integers(0, 9, 90)).tolist()
    near = rng.normal(rng.random(20)[:, None] * 90, 6, (20, 9)).astype(int) % 90
    wanted = [sorted(set(row)) for row in near.tolist()]
    return json.dumps(plain(rates, wanted, streams=12, groups=4, more=more)).encode()


COMPARE = {"compare": True}


@pytest.mark.parametrize("method", ["joint", "flat", "random-restart"])
def test_other_maps_are_compared_where_that_is_wanted(method: str) -> None:
    payload = large_text(pins={"flow_to_stream": {"f0003": 2}})
    alone = json.loads(answer(payload, Call(method=method, seed=3)))
    both = json.loads(answer(payload, Call(method=method, seed=3, inputs=COMPARE)))
    flat, random = both.pop("flat"), both.pop("random")
    assert both == alone
    of = mapping_from_json(payload)
    for costs, exact in (
        (flat, filtering_cost(*of_method(of, "flat", 3))),
        (random, random_filtering(of)),
    ):
        assert costs == {
            "cost": exact.total,
            "transport_cost": exact.transport,
            "messaging_cost": exact.messaging,
            "unwanted_per_s": exact.unwanted_per_s,
            "dropped_per_s": exact.dropped_per_s,
        }
    assert random["cost"] == alone["random_cost"]
    if method == "flat":
        assert flat["cost"] == alone["cost"]


def of_method(of: MappingProblem, name: str, seed: int) -> tuple[MappingProblem, Any, Any]:
    """Return the problem, and streams and groups that a method gives it."""
    method = clusterers()[name]
    flow_map = method.cluster(
        of, method.Params(), seed=seed, stop=lambda: False, report=lambda seen: None
    )
    return of, flow_map.stream_of, flow_map.group_of


CURVE = {"curve": True}


@pytest.mark.parametrize(
    ("method", "inputs", "parameters"),
    [
        *(("joint", inputs, {}) for inputs in ({}, COMPARE, CURVE, {**COMPARE, **CURVE})),
        ("joint", {**COMPARE, **CURVE}, {"restarts": 3}),
        ("joint", {**COMPARE, **CURVE}, {"rounds": 2, "parts": 2}),
        *((name, COMPARE, {}) for name in ("flat", "iterative", "random-restart", "groups-first")),
    ],
)
def test_progress_never_goes_back(
    method: str, inputs: dict[str, Any], parameters: dict[str, Any]
) -> None:
    previous = {"stream_of": {f"f{at:04}": at % 12 for at in range(90)}}
    previous["group_of"] = {str(at): at % 4 for at in range(12)}
    reports: list[float] = []
    call = Call(
        method=method,
        inputs=inputs,
        parameters=parameters,
        report=lambda seen: reports.append(seen["done"] / seen["total"]),
    )
    answer(large_text(previous=previous, move_cost=1.0), call)
    assert reports == sorted(reports)
    assert 0.0 <= reports[0] <= 1.0
    assert 0.9 <= reports[-1] <= 1.0


@pytest.mark.parametrize("enough", [0, 1, 3, 10, 10_000])
def test_comparing_takes_no_time_of_a_search_that_is_stopped(enough: int) -> None:
    def stopping() -> Any:
        calls = iter(range(1_000_000))
        return lambda: next(calls) >= enough

    alone = json.loads(answer(large_text(), Call(stop=stopping())))
    both = json.loads(answer(large_text(), Call(stop=stopping(), inputs=COMPARE)))
    random, of_flat = both.pop("random"), both.pop("flat", None)
    assert both == alone
    assert random["cost"] == alone["random_cost"]
    assert (of_flat is None) == (alone["status"] == "time_limit")


@pytest.mark.parametrize("method", ["flat", "iterative", "random-restart", "groups-first"])
def test_methods_without_a_curve_are_compared_with_keeping_the_map(method: str) -> None:
    """Flows that had no stream get one, pins are kept, and everything else stays."""
    streams = {f"f{at:04}": at % 12 for at in range(90) if at % 9}
    previous = {"stream_of": streams, "group_of": {str(at): at % 4 for at in range(12)}}
    pins = {"flow_to_stream": {"f0001": 7}}
    payload = large_text(previous=previous, pins=pins)
    plain = json.loads(answer(payload, Call(method=method, inputs=COMPARE)))
    alone = json.loads(answer(payload, Call(method=method)))
    of = mapping_from_json(payload)
    (point,) = plain["curve"]
    assert plain["stream_of"] == alone["stream_of"]
    wanted = {of.flows[at] for at in np.flatnonzero(of.interests.audiences)}
    assert point["moved"] == int("f0001" in wanted)
    assert point["moved_streams"] == 0
    assert set(point["stream_of"]) == {
        name for name in wanted if name == "f0001" or name not in streams
    }
    choices = choices_from_answer(of, plain)
    assert [fault_of(of, each) for each in choices.maps] == [""] * len(choices.maps)
    assert "curve" not in alone


def test_flat_maps_of_huge_problems_get_fewer_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = large_text()
    full = json.loads(answer(payload, Call(inputs=COMPARE)))["flat"]["cost"]
    monkeypatch.setattr(kernel, "FLAT_WORK", 1)
    short = json.loads(answer(payload, Call(inputs=COMPARE)))["flat"]["cost"]
    once = flat.cluster(
        mapping_from_json(payload),
        flat.Params(max_epochs=1),
        seed=0,
        stop=lambda: False,
        report=lambda seen: None,
    )
    of = mapping_from_json(payload)
    assert short == filtering_cost(of, once.stream_of, once.group_of).total
    assert short > full


HOLDS = {"stream_of": [0, NOWHERE, 1], "group_of": [0, 1, NOWHERE]}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"stream_of": [0, NOWHERE]}, "it has not one stream for each flow"),
        ({"group_of": [0, 1]}, "it has not one stream for each flow"),
        ({"stream_of": [0, NOWHERE, NOWHERE]}, 'flow "f0002" is in no stream'),
        ({"stream_of": [0, 0, 1]}, 'flow "f0001" is in a stream, and nobody wants it'),
        ({"stream_of": [0, NOWHERE, 3]}, 'flow "f0002" is in a stream that there is not'),
        ({"stream_of": [0, NOWHERE, -2]}, 'flow "f0002" is in a stream that there is not'),
        ({"stream_of": [1, NOWHERE, 1]}, 'flow "f0000" is not where it is pinned'),
        ({"group_of": [0, NOWHERE, NOWHERE]}, "stream 1 is in no group"),
        ({"group_of": [0, 1, 1]}, "stream 2 is in a group, and carries nothing"),
        ({"group_of": [2, 1, NOWHERE]}, "stream 0 is in a group that there is not"),
        ({"group_of": [-2, 1, NOWHERE]}, "stream 0 is in a group that there is not"),
        ({"group_of": [0, 0, NOWHERE]}, "stream 1 is not where it is pinned"),
    ],
)
def test_each_broken_rule_is_named(change: dict[str, Any], fault: str) -> None:
    pins = {
        "flow_to_stream": {"f0000": 0, "f0001": 2},
        "stream_to_group": {"1": 1, "2": 0},
    }
    of = problem([1.0, 1.0, 1.0], [[0], [2]], streams=3, groups=2, more={"pins": pins})
    arrays = {name: np.array(value) for name, value in {**HOLDS, **change}.items()}
    named = fault_of(of, FlowMap(**arrays))
    assert named.startswith(fault)
    assert bool(named) == bool(fault)
