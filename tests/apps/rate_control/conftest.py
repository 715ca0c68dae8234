"""What the loop of rate control keeps in its process must not reach the next test."""

from collections.abc import Iterator

import pytest

from apps.rate_control import services
from tests.apps.conftest import locks_release


@pytest.fixture(autouse=True)
def _forget(db: None) -> Iterator[None]:
    yield
    services._controls.clear()
    services._stepped.clear()
    locks_release()
