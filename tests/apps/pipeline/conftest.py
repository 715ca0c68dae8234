from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.pipeline.services import sums


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path) -> Iterator[Path]:
    """A data folder of its own, of whose batches none was tried yet."""
    settings.WEIR_DATA_DIR = tmp_path
    yield tmp_path
    sums._tried.clear()
