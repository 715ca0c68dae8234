"""What agents report is enough to find again what virtual brokers are made of."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.drivers.simulated.broker import WORK_PER_COPY_S, WORK_S
from agent.telemetry import Meter
from apps.telemetry.domain.payload import telemetry_checked
from spark_tasks.jobs.fit import fit_payload
from tests.agent.test_simulated import Chain, until
from weir.coordination.wire import Delivery

pytestmark = pytest.mark.asyncio

WINDOW_S = 10
POINTS = [(400, 1), (50, 40), (200, 20), (400, 40), (100, 1), (300, 10), (50, 5), (250, 30)]
"""(messages per look, consumers)."""


def model() -> dict:
    return {
        "format": 1,
        "window_s": WINDOW_S,
        "cases": [
            {
                "broker": "c",
                "resource": "cpu",
                "measure": "cpu",
                "capacity": 1.0,
                "terms": [
                    {"kind": "flow", "name": "f", "flow": "f", "rate_max_per_s": 1e6},
                    {"kind": "class", "name": "k", "flow": "f", "population_max": 40},
                ],
            }
        ],
    }


@pytest.mark.parametrize("delivery", list(Delivery))
async def test_fit_of_agents_telemetry_gives_the_brokers_own_constants(delivery: Delivery) -> None:
    chain = Chain(delivery)
    clock = asyncio.get_running_loop().time
    lines = [json.dumps(model())]
    try:
        await chain.start("a", "b", "c")
        await until(lambda: "f" in chain.routers["a"].tables.interest.get("b", ()))
        drivers = {name: chain.routers[name]._driver for name in "ac"}
        meters = {name: Meter(clock()) for name in "ac"}
        offered = passed = 0

        async def look(window: int | None) -> None:
            for name, meter in meters.items():
                stats = await drivers[name].stats()
                plain = meter.measure(clock(), chain.routers[name].counters(), stats)
                told = telemetry_checked(plain)
                if window is None:
                    continue
                flows, load = told["flows"], told["broker"]
                record = {
                    "broker": name,
                    "at": WINDOW_S * window,
                    "interval_s": told["interval_s"],
                    "cpu_ratio": load["cpu_ratio"],
                    "cores": load["cores"],
                    "passed": {flow: row["passed_per_s"] for flow, row in flows.items()},
                    "admitted": {k: row["admitted"] for k, row in told["classes"].items()},
                }
                lines.append(json.dumps(record))
                if name == "a":
                    assert flows["f"]["message_bytes"] == 64
                    assert ("ack_s" in flows["f"]) == (delivery is Delivery.RELIABLE)

        for window, (messages, people) in enumerate(POINTS):
            book = chain.at("c").book
            while book.admitted("k") < people:
                offered += 1
                assert chain.at("c").ask("k", f"x{offered}", clock()) is not None
            for place in book.places("k")[people:]:
                book.gone(place.connection, clock())
            await look(None)
            chain.at("a").publish("f", delivery, [b"x" * 64] * messages)
            passed += messages
            await until(lambda n=passed: chain.routers["b"].counters().received["a"] >= n)
            await until(lambda n=passed: chain.routers["c"].counters().received["b"] >= n)
            await asyncio.sleep(0.02)
            await look(window)
    finally:
        await chain.close()
    answer, error = fit_payload("\n".join(lines).encode())
    assert answer is not None, error
    coefficients = {row["name"]: row for row in json.loads(answer)["cases"][0]["coefficients"]}
    assert coefficients["f"]["value"] == pytest.approx(WORK_S[delivery], rel=0.15)
    assert coefficients["k"]["value"] == pytest.approx(WORK_PER_COPY_S[delivery], rel=0.05)
