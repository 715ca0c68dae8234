"""What waits for Spark while the client is still being loaded."""

import socket
import time
from types import ModuleType
from typing import Any

import pytest

from apps.runs.services import gateway


@pytest.fixture
def listening(settings, tmp_path):
    """An address where something listens that is never spoken to."""
    settings.WEIR_DATA_DIR = tmp_path
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        settings.WEIR_SPARK_REMOTE = f"sc://127.0.0.1:{port}"
        yield


def test_heartbeats_go_on_while_the_client_is_loaded(listening, monkeypatch):
    beats = []
    loaded: Any = ModuleType("spark_tasks.entry")
    loaded.JobError = type("JobError", (Exception,), {})
    loaded.run = lambda **_: b"answer"

    def load(name: str) -> ModuleType:
        time.sleep(4 * gateway.TICK_S)
        return loaded

    monkeypatch.setattr(gateway, "import_module", load)

    def beat() -> bool:
        beats.append(time.monotonic())
        return True

    answer = gateway.spark_solve(
        job="solve",
        key="a-1",
        payload=b"",
        order=gateway.JobOrder(method="lrgp"),
        keep_going=beat,
        patience_s=1.0,
    )

    assert answer == b"answer"
    assert len(beats) >= 2
