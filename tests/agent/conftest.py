"""What all tests of the agent share."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _nothing_left_to_collect() -> Iterator[None]:
    """Clients of killed brokers die in circles. Python 3.11 cannot format a traceback (it parses
    the source for it) while it parses something else, so they must not be collected just then."""
    yield
    gc.collect()
