"""Publishers of a flow that comes in at a broker no more: refused, not acknowledged for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from nats.js.errors import NoStreamResponseError

from agent.enforcement import Enforcer
from tests.agent.planes import Plane, client, stored, stored_count
from tests.nats_server import NatsServer
from weir.coordination.wire import ClassSpec, Delivery, Document, FlowSpec

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 60
HERE = {"rel": FlowSpec(delivery=Delivery.RELIABLE, ingress=True)}
ELSEWHERE = {"rel": FlowSpec(delivery=Delivery.RELIABLE)}


def document(version: str, flows: dict[str, FlowSpec]) -> Document:
    classes = {"k": ClassSpec(flow="rel")} if flows else {}
    return Document(system="s", broker="a", version=version, flows=flows, classes=classes)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "a") as server:
        yield server


async def obey(plane: Plane, *documents: Document) -> None:
    """One life of the agent is told these."""
    await plane.open()
    enforcer = Enforcer(driver=plane.driver, router=plane.router, busy=frozenset)
    for told in documents:
        assert await enforcer.apply(told, current=lambda: True)


@pytest.mark.parametrize("after", [ELSEWHERE, {}], ids=["moved", "ended"])
@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "while the agent was away"])
async def test_publishers_at_an_ingress_that_is_none_any_more_are_refused(server, after, restarted):
    async with asyncio.timeout(LIMIT_S):
        here = await client(server)
        js = here.jetstream()
        plane = Plane("a", server)
        if restarted:
            await obey(plane, document("1", HERE))
            await js.publish("weir.in.rel", b"taken")
            await plane.close()
            plane = Plane("a", server)
            await obey(plane, document("2", after))
        else:
            await obey(plane, document("1", HERE), document("2", after))
        with pytest.raises(NoStreamResponseError):
            await js.publish("weir.in.rel", b"refused")
        await plane.close()
        # It comes in here again: what was acknowledged arrives.
        plane = Plane("a", server)
        await obey(plane, document("3", HERE))
        await js.publish("weir.in.rel", b"again")
        expected = [b"taken", b"again"] if restarted else [b"again"]
        while await stored_count(here, "rel") < len(expected):
            await asyncio.sleep(0.02)
        assert await stored(here, "rel") == expected
        await here.close()
        await plane.close()
