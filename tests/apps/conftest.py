"""Fixtures of the backend's tests."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from tests.factories.kinds import World, make_world


@pytest.fixture(autouse=True)
def _no_throttling_between_tests() -> Iterator[None]:
    """Sign-in attempts are counted per process; each test starts with a clean count."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def world(db: None) -> World:
    """A small system with one object of each kind that others refer to."""
    return make_world()
