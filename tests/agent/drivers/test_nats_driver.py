"""What is particular to NATS."""

import asyncio

import pytest

from agent.drivers.base import Channel, Place, Retryable, Unsupported
from tests.agent.planes import Plane, client, flows, listen, stored, stored_count, until
from tests.nats_server import NatsServer
from weir.coordination.wire import ClassSpec, Delivery, FlowSpec, Gate

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60.0
RELIABLE = FlowSpec(delivery=Delivery.RELIABLE, ingress=True)
BEST_EFFORT = FlowSpec(delivery=Delivery.BEST_EFFORT, ingress=True)


async def test_without_jetstream_best_effort_works_and_reliable_is_unsupported(tmp_path):
    with NatsServer(tmp_path / "nats", config="listen: 127.0.0.1:{port}\n") as server:
        async with asyncio.timeout(LIMIT_S):
            plane = await Plane("a", server).open()
            assert plane.driver.capabilities.deliveries == (Delivery.BEST_EFFORT,)
            with pytest.raises(Unsupported, match="JetStream"):
                await plane.driver.ensure_channel(
                    Channel(place=Place.INGRESS, delivery=Delivery.RELIABLE, flow="f")
                )
            await plane.close()


async def test_limits_need_an_auth_callout(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        await plane.driver.admit({"k": ClassSpec(flow="f")}, unmanaged="report")
        with pytest.raises(Unsupported, match="auth callout"):
            await plane.driver.admit({"k": ClassSpec(flow="f", limit=2)}, unmanaged="report")
        await plane.close()


async def test_a_flow_changes_its_class_when_its_last_reliable_message_has_passed(server):
    async with asyncio.timeout(LIMIT_S):
        plane = await Plane("a", server).open()
        plane.router.flows.set_gate("rel", Gate(rate_per_s=50, burst=5))
        await flows(plane, ingress=("rel",), local=("rel",))
        here = await client(server)
        numbers = [b"%d" % number for number in range(60)]
        for number in numbers:
            await here.jetstream().publish("weir.in.rel", number)
        with pytest.raises(Retryable, match="have to pass first"):
            await plane.router.flows.ensure_flow("rel", BEST_EFFORT)
        # An agent that dies on the way finds its way.
        await plane.close()
        plane = await Plane("a", server, tables=plane.saved).open()
        await plane.router.flows.set_local(["rel"])
        plane.router.flows.set_gate("rel", Gate(rate_per_s=50, burst=5))
        with pytest.raises(Retryable, match="have to pass first"):
            await plane.router.flows.ensure_flow("rel", BEST_EFFORT)
        plane.router.flows.set_gate("rel", None)
        while await stored_count(here, "rel") < len(numbers):
            await asyncio.sleep(0.02)
        while True:
            try:
                await plane.router.flows.ensure_flow("rel", BEST_EFFORT)
            except Retryable:
                await asyncio.sleep(0.05)
            else:
                break
        got = await listen(here, "rel")
        await asyncio.sleep(0.1)
        for number in numbers:
            await here.publish("weir.in.rel", number)
        await until(lambda: got == numbers, "best effort")
        assert await stored(here, "rel") == numbers
        await plane.router.flows.ensure_flow("rel", RELIABLE)
        await here.jetstream().publish("weir.in.rel", b"last")
        while await stored_count(here, "rel") < len(numbers) + 1:
            await asyncio.sleep(0.02)
        assert await stored(here, "rel") == [*numbers, b"last"]
        await plane.close()
        await here.close()
