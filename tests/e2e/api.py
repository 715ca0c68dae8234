"""The REST API as the browser sees it."""

import time
from collections.abc import Callable
from typing import Any

import httpx


class Api:
    """The REST API as a browser session uses it; patient with a web process that restarts."""

    def __init__(self, address: str, username: str = "demo", password: str = "weir-demo") -> None:
        self.client = httpx.Client(base_url=address, timeout=60.0)
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

    def command(self, plan: str, command: str, body: Any = None) -> httpx.Response:
        """Command the plan at this address, as it is now."""
        version = self.get(plan)["version"]
        headers = {"If-Match": f'"{version}"'}
        return self.client.post(f"{plan}/{command}", json=body, headers=headers)

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


def ended(run: Any) -> bool:
    return run["state"] not in ("queued", "running")


def computing(run: Any) -> bool:
    return run["state"] == "running" and run["progress"].get("iteration", 0) > 0
