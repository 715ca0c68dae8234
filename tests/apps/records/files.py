"""Read what lies in the folder of a system's records."""

from pathlib import Path
from typing import Any

from pyarrow import parquet

from apps.records.selectors import records_folder
from apps.systems.models import System


def folder_of(system: System) -> Path:
    return Path(records_folder(system).removeprefix("file://"))


def kept(system: System) -> list[dict[str, Any]]:
    """All rows of the files of a system."""
    return [
        row
        for file in sorted(folder_of(system).rglob("*.parquet"))
        if not file.name.startswith(".")
        for row in parquet.ParquetFile(file).read().to_pylist()
    ]
