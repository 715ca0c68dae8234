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
from weir.clustering import clusterers
from weir.clustering.answer import answer, fault_of
from weir.errors import InvalidProblem, UnknownMethod, WeirError
from weir.kernel import Call
from weir.model.mapping import NOWHERE, FlowMap


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
