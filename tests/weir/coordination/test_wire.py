"""The agent protocol as JSON: what is written is read, what is newer is left out, and no more."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from weir.coordination.wire import (
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    Gate,
    Neighbour,
    Observed,
    Order,
    OrderPhase,
    Report,
    ReportPhase,
    document_from_dict,
    observed_from_dict,
    report_from_dict,
    to_dict,
)
from weir.errors import InvalidProblem

ORDER = Order(
    action="x",
    attempt=2,
    kind="shift_link",
    phase=OrderPhase.COMMIT,
    role="i",
    peers={"i": "a", "j": "b", "k": "c"},
    addresses={"b": "nats://b:1"},
    keys={"b": "UB"},
    interests={"i": ("tides", "ports"), "j": ()},
)
DOCUMENT = Document(
    system="s",
    broker="a",
    version="v",
    number=7,
    asked=5,
    flows={"tides": FlowSpec(delivery=Delivery.RELIABLE, ingress=True, max_message_bytes=9)},
    gates={"tides": Gate(rate_per_s=2.5, burst=1.0)},
    classes={"desk 7": ClassSpec(flow="tides", limit=3), "all": ClassSpec(flow="tides")},
    neighbours={"b": Neighbour(address="nats://b:1", key="UB")},
    orders=(ORDER,),
)
REPORT = Report(action="x", attempt=2, phase=ReportPhase.SWITCHED, pause_s=0.5, interests={"i": ()})
OBSERVED = Observed(
    version="v",
    gates={"tides": Gate(rate_per_s=2.0, burst=1.0)},
    ingress={"tides": Delivery.RELIABLE},
    served={"desk 7": "tides"},
    links=("b",),
    problems=("the link to b rests",),
)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (DOCUMENT, document_from_dict),
        (REPORT, report_from_dict),
        (OBSERVED, observed_from_dict),
        (Observed(), observed_from_dict),
    ],
)
def test_what_is_written_is_read(value: Any, read: Any) -> None:
    text = json.dumps(to_dict(value))
    assert read(json.loads(text)) == value
    assert text == json.dumps(asdict(value)), "the names of documents hang on it"


def newer(plain: Any) -> Any:
    """The same with a member that nobody knows in every object of fixed members."""
    plain = json.loads(json.dumps(plain))
    for row in (plain, *plain["flows"].values(), *plain["gates"].values(), *plain["orders"]):
        row["tomorrow"] = {"a": [1]}
    return plain


def test_members_of_a_newer_control_plane_are_left_out() -> None:
    assert document_from_dict(newer(to_dict(DOCUMENT))) == DOCUMENT


def test_what_an_older_control_plane_does_not_say_is_as_it_was() -> None:
    bare = document_from_dict({"system": "s", "broker": "a", "version": "v", "flows": {"f": {}}})
    assert bare == Document(system="s", broker="a", version="v", flows={"f": FlowSpec()})


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"number": -1}, "number"),
        ({"number": True}, "number"),
        ({"asked": "7"}, "asked"),
        ({"flows": 3}, "flows"),
        ({"flows": {"f": {"delivery": "exactly_twice"}}}, "flows[...].delivery"),
        ({"flows": {"f": {"keep_s": 0}}}, "flows[...].keep_s"),
        ({"flows": {"f": {"ingress": "no"}}}, "flows[...].ingress"),
        ({"gates": {"f": {"rate_per_s": "fast", "burst": 1}}}, "gates[...].rate_per_s"),
        ({"gates": {"f": {"rate_per_s": 1.0}}}, "gates[...]"),
        ({"classes": {"c": {"flow": "f", "limit": 1.5}}}, "classes[...].limit"),
        ({"orders": [{**to_dict(ORDER), "phase": "dissolve"}]}, "orders[0].phase"),
        ({"orders": [to_dict(ORDER), {**to_dict(ORDER), "peers": {"i": 1}}]}, "orders[1].peers"),
    ],
)
def test_refusals_name_the_member(members: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidProblem) as refused:
        document_from_dict({**to_dict(DOCUMENT), **members})
    assert refused.value.path.startswith(path)


@pytest.mark.parametrize("plain", [None, [], "text", 7])
def test_what_is_no_object_is_refused(plain: object) -> None:
    with pytest.raises(InvalidProblem, match=r"^document: "):
        document_from_dict(plain)


def test_refusals_stand_below_the_place_that_is_given() -> None:
    with pytest.raises(InvalidProblem) as refused:
        report_from_dict({**to_dict(REPORT), "phase": "perhaps"}, "reports[3]")
    assert refused.value.path == "reports[3].phase"
