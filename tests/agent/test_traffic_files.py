"""What the traffic process is told: read, or refused with the entry that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.publisher import PublisherTraffic
from agent.traffic import (
    BurstTraffic,
    ClassTraffic,
    SubscriberTraffic,
    main,
    read_bursts,
    read_subscribers,
    read_traffic,
)

TRAFFIC: dict[str, Any] = {
    "flows": {"berths": {"broker": "rot-1", "delivery": "reliable", "rate_per_s": 9.6}},
    "classes": {
        "gold": {"flow": "berths", "broker": "rot-1", "delivery": "reliable", "consumers": 3}
    },
}
ACCESS = {"brokers": {"rot-1": "nats://127.0.0.1:1"}, "publisher": "p", "client_key": "k"}


def write(path: Path, plain: object) -> Path:
    path.write_text(json.dumps(plain))
    return path


def test_reads_who_sends_and_who_wants_what(tmp_path: Path) -> None:
    shares = {
        "berths/1": {"broker": "rot-1", "rate_per_s": 3},
        "berths/2": {"broker": "ant-1", "rate_per_s": 6.6},
    }
    flows = {"berths": {**TRAFFIC["flows"]["berths"], "publishers": shares}}
    publishers, classes = read_traffic(write(tmp_path / "t.json", {**TRAFFIC, "flows": flows}))
    assert publishers == [
        PublisherTraffic(
            name=name, flow="berths", broker=broker, reliable=True, rate_per_s=rate_per_s
        )
        for name, broker, rate_per_s in (("berths/1", "rot-1", 3.0), ("berths/2", "ant-1", 6.6))
    ]
    assert classes == [
        ClassTraffic(name="gold", flow="berths", broker="rot-1", reliable=True, consumers=3)
    ]


@pytest.mark.parametrize("more", [{}, {"publishers": {}}])
def test_a_flow_that_names_no_publisher_has_one_client(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    flows = {"berths": {**TRAFFIC["flows"]["berths"], **more}}
    publishers, _ = read_traffic(write(tmp_path / "t.json", {**TRAFFIC, "flows": flows}))
    assert publishers == [
        PublisherTraffic(
            name="publisher berths", flow="berths", broker="rot-1", reliable=True, rate_per_s=9.6
        )
    ]


def of(publishers: object, **more: object) -> dict[str, Any]:
    flows = {"berths": {**TRAFFIC["flows"]["berths"], "publishers": publishers, **more}}
    return {**TRAFFIC, "flows": flows}


def bursts(**members: object) -> dict[str, Any]:
    publishers = {"b/1": {"broker": "rot-1", "rate_per_s": 0}}
    burst = {"publishers": ["b/1"], "every_s": 4, "spread_s": 0.01, **members}
    return of(publishers, bursts={"ebb": burst})


def desk(**members: object) -> dict[str, Any]:
    return {**TRAFFIC, "subscribers": {"desk": {"broker": "rot-1", "flows": ["b"], **members}}}


def test_reads_who_receives_flows_on_streams(tmp_path: Path) -> None:
    assert read_subscribers(write(tmp_path / "t.json", TRAFFIC)) == []
    assert read_subscribers(write(tmp_path / "t.json", desk(flows=["berths", "tides"]))) == [
        SubscriberTraffic(name="desk", broker="rot-1", flows=("berths", "tides"))
    ]


def test_reads_who_sends_together(tmp_path: Path) -> None:
    assert read_bursts(write(tmp_path / "t.json", TRAFFIC)) == []
    assert read_bursts(write(tmp_path / "t.json", bursts())) == [
        BurstTraffic(flow="berths", publishers=("b/1",), every_s=4.0, spread_s=0.01, messages=1)
    ]


@pytest.mark.parametrize(
    ("traffic", "access", "said"),
    [
        ({"flows": {}}, ACCESS, "t.json: classes is missing or malformed"),
        ({**TRAFFIC, "flows": {"f": {}}}, ACCESS, "t.json: flows.f.broker is missing"),
        (of([1]), ACCESS, "t.json: flows.berths.publishers is missing or malformed"),
        (of({"b/1": 3}), ACCESS, "t.json: flows.berths.publishers.b/1.broker is missing"),
        (
            of({"b/1": {"broker": "ham-1", "rate_per_s": 1}}),
            ACCESS,
            "a.json: brokers.ham-1 is missing",
        ),
        (
            bursts(publishers=["b/2"]),
            ACCESS,
            "t.json: flows.berths.bursts.ebb.publishers: b/2 is no publisher of berths",
        ),
        (bursts(every_s=0), ACCESS, "t.json: flows.berths.bursts.ebb: every_s"),
        (bursts(messages="3"), ACCESS, "t.json: flows.berths.bursts.ebb.messages is missing"),
        (desk(flows="berths"), ACCESS, "t.json: subscribers.desk.flows is missing or malformed"),
        (desk(flows=[7]), ACCESS, "t.json: subscribers.desk.flows: names of flows are strings"),
        (desk(broker="ham-1"), ACCESS, "a.json: brokers.ham-1 is missing"),
        ([], ACCESS, "t.json: must hold an object"),
        (TRAFFIC, {**ACCESS, "client_key": 7}, "a.json: client_key is missing or malformed"),
        (TRAFFIC, {**ACCESS, "brokers": {}}, "a.json: brokers.rot-1 is missing"),
    ],
)
def test_wrong_entry_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], traffic: Any, access: Any, said: str
) -> None:
    files = write(tmp_path / "t.json", traffic), write(tmp_path / "a.json", access)
    assert main(["--traffic", str(files[0]), "--access", str(files[1])]) == 2
    assert said in capsys.readouterr().err


def test_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--traffic", str(tmp_path / "none"), "--access", str(tmp_path / "none")]) == 2
    assert "none: " in capsys.readouterr().err
