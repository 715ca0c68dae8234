"""The whole system, as `make up` leaves it, in `var/e2e`; started once, ended with the session."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from config.stack import Stack

STATE_DIR = Path(__file__).resolve().parents[2] / "var" / "e2e"
OF_OTHER_STACKS = (
    *("DATABASE_URL", "WEIR_BROKER_URL", "NATS_URL", "WEIR_SPARK_REMOTE", "WEIR_WEB_URL"),
    *("WEIR_SECRET_KEY", "WEIR_DATA_DIR", "SPARK_CONNECT_AUTHENTICATE_TOKEN"),
    *("DJANGO_SETTINGS_MODULE", "PYSPARK_PYTHON"),
)
# A worker that falls silent is noticed sooner than in production, so that kill tests stay short.
SILENCE_S = "5"


@pytest.fixture(scope="session")
def weir() -> Iterator[Stack]:
    """Postgres, Valkey, NATS, Spark, web, worker and beat, with the demo loaded."""
    given = {k: v for k, v in os.environ.items() if k not in OF_OTHER_STACKS}
    stack = Stack(state_dir=STATE_DIR, given={**given, "WEIR_RUN_SILENCE_S": SILENCE_S})
    stack.up()
    api = Api(stack.environment()["WEIR_WEB_URL"])
    # The demo's first runs: a test that tidies up behind itself must not cancel them.
    for state in ("queued", "running"):
        api.wait("/api/v1/runs", lambda page: page["results"] == [], 120, state=state)
    api.client.close()
    yield stack
    if not os.environ.get("WEIR_TEST_SERVERS_KEEP"):
        stack.down()


@pytest.fixture(scope="session")
def address(weir: Stack) -> str:
    return weir.environment()["WEIR_WEB_URL"]


class Api:
    """The REST API as a browser session uses it; patient with a web process that restarts."""

    def __init__(self, address: str, username: str = "demo", password: str = "weir-demo") -> None:
        self.client = httpx.Client(base_url=address, timeout=10.0)
        token = self.client.get("/api/v1/session").json()["csrf_token"]
        answer = self.client.post(
            "/api/v1/session",
            json={"username": username, "password": password},
            headers={"X-CSRFToken": token},
        )
        answer.raise_for_status()
        self.client.headers["X-CSRFToken"] = answer.json()["csrf_token"]

    def get(self, path: str, **params: Any) -> Any:
        answer = self.client.get(path, params=params)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self.client.post(path, json=body)

    def system(self, name: str) -> Any:
        return self.get("/api/v1/systems", name=name)["results"][0]

    def optimize(self, system: str, **request: Any) -> str:
        """Start a run; returns its address."""
        answer = self.post("/api/v1/allocations", {"system": self.system(system)["id"], **request})
        assert answer.status_code == 202, answer.text
        return answer.headers["Location"]

    def wait(self, path: str, until: Callable[[Any], bool], seconds: float, **params: Any) -> Any:
        """Read until it is so; a server that is away meanwhile is asked again."""
        deadline = time.monotonic() + seconds
        latest: Any = None
        while time.monotonic() < deadline:
            try:
                latest = self.get(path, **params)
                if until(latest):
                    return latest
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                latest = error
            time.sleep(0.1)
        raise AssertionError(f"{path} after {seconds} s: {latest}")


@pytest.fixture
def rest(weir: Stack, address: str) -> Iterator[Api]:
    weir.wait_ready("web")
    api = Api(address)
    yield api
    # A test that failed half-way must not leave its runs to the next one.
    weir.wait_ready("web")
    for state in ("queued", "running"):
        for run in api.get("/api/v1/runs", state=state)["results"]:
            api.post(f"/api/v1/runs/{run['id']}/cancel")
    api.client.close()


def ended(run: Any) -> bool:
    return run["state"] not in ("queued", "running")


def computing(run: Any) -> bool:
    return run["state"] == "running" and run["progress"].get("iteration", 0) > 0
