"""A harbour whose agents speak to the real application over HTTP."""

from collections.abc import Iterator

import pytest

from tests.factories.fleet import FakeAgent, Harbour, Loop, enrol, make_harbour


@pytest.fixture
def loop(transactional_db: None) -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def harbour(transactional_db: None) -> Harbour:
    return make_harbour()


@pytest.fixture
def agents(loop: Loop, harbour: Harbour) -> dict[str, FakeAgent]:
    """Every broker's agent, come and live."""
    return {name: enrol(loop, broker).come() for name, broker in harbour.brokers.items()}
