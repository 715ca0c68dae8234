"""What all tests of the agent share."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
import uvloop

from tests.agent.enforcing import Here
from tests.agent.gated_broker import GatedBroker
from tests.agent.planes import Plane, client
from tests.nats_server import NatsServer


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run tests of drivers also on the loop that agents run on where it is installed, as it is with
    Weir: its transports are not those of asyncio."""
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if "drivers" in item.path.parts:
        loops["uvloop"] = uvloop.new_event_loop
    return loops


@pytest.fixture(autouse=True, scope="module")
def _nothing_left_to_collect() -> Iterator[None]:
    """Clients of killed brokers die in circles. Python 3.11 cannot format a traceback (it parses
    the source for it) while it parses something else, so they must not be collected just then."""
    yield
    gc.collect()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A broker of the test's own."""
    with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest_asyncio.fixture
async def gated(server: NatsServer) -> AsyncIterator[GatedBroker]:
    """A broker with an agent's enforcement, of which no part of a bucket is in force yet."""
    plane = await Plane("a", server).open()
    publisher = await client(server)
    gated = GatedBroker(plane, publisher)
    yield gated
    await publisher.close()
    await gated.plane.close()


@pytest_asyncio.fixture
async def here() -> AsyncIterator[Here]:
    """A virtual broker with an agent's enforcement."""
    here = Here()
    yield here
    await here.router.close()
