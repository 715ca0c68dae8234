"""What the traffic process is told: read, or refused with the entry that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.traffic import ClassTraffic, FlowTraffic, main, read_traffic

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
    flows, classes = read_traffic(write(tmp_path / "t.json", TRAFFIC))
    assert flows == [FlowTraffic(name="berths", broker="rot-1", reliable=True, rate_per_s=9.6)]
    assert classes == [
        ClassTraffic(name="gold", flow="berths", broker="rot-1", reliable=True, consumers=3)
    ]


@pytest.mark.parametrize(
    ("traffic", "access", "said"),
    [
        ({"flows": {}}, ACCESS, "t.json: classes is missing or malformed"),
        ({**TRAFFIC, "flows": {"f": {}}}, ACCESS, "t.json: flows.f.broker is missing"),
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
