"""Best effort for a neighbour that does not listen: lost, and counted by whoever wrote it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.agent.planes import until
from tests.agent.test_nats_links import join, two_sides
from tests.nats_clients import processed
from weir.coordination.wire import FlowSpec

pytestmark = [pytest.mark.asyncio, pytest.mark.stack]

LIMIT_S = 60


async def test_what_is_written_for_a_neighbour_that_is_away_is_counted(tmp_path: Path) -> None:
    async with asyncio.timeout(LIMIT_S), two_sides(tmp_path) as (a, b):
        await join(a, b)
        await a.router.flows.ensure_flow("core", FlowSpec(ingress=True))
        await a.router.know(("tides", "core"), None)
        await b.router.flows.set_local(("tides", "core"))
        await until(lambda: "core" in a.router.tables.interest["b"], "wanted")
        publisher = await a.client()
        await publisher.publish("weir.in.core", b"arrives")
        await until(lambda: b.router.counters().received.get("a") == 1, "it arrives")
        assert (await a.driver.stats()).lost == {}
        await b.driver.close_link("a")
        await until(lambda: not a.driver._admission.links.here("b"), "the link is cut")
        await publisher.publish("weir.in.core", b"1")
        await publisher.publish("weir.in.core", b"2")
        await processed(publisher)
        await until(lambda: a.router.counters().sent.get("b") == 3, "they are sent")
        assert (await a.driver.stats()).lost == {"core": {"link_away": 2}}
        await publisher.close()
