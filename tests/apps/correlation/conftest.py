"""Fixtures of the tests of suggested correlation keys."""

from pathlib import Path
from typing import Any

import pytest

from tests.factories.bay import Bay, lay_recording, make_bay


@pytest.fixture(autouse=True)
def recordings(settings: Any, tmp_path: Path) -> Path:
    """The folder of recordings, with one that nobody reads."""
    settings.WEIR_RECORDINGS_DIR = tmp_path
    lay_recording()
    return tmp_path


@pytest.fixture
def bay(db: None) -> Bay:
    return make_bay()
