"""A system whose records lie in a folder of the test."""

from pathlib import Path
from typing import Any

import pytest

from apps.systems.models import System
from tests.factories import make_system


@pytest.fixture
def harbour(db: None, settings: Any, tmp_path: Path) -> System:
    settings.WEIR_DATA_DIR = str(tmp_path / "data")
    return make_system()
