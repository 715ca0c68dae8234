"""Say which files a recording has, to whoever freezes it and to whoever reads it.

One rule for both: what is frozen in a request and read on Spark would else not be the same files.
"""

import os
from collections.abc import Sequence
from pathlib import Path

SUFFIX = ".parquet"
HIDDEN = ("_", ".")
"""What names begin with that are no part of a recording: notes of who wrote it, unfinished work."""


def is_data(parts: Sequence[str], suffix: str = SUFFIX) -> bool:
    """Return whether a file of a folder holds messages; `parts` is its path below the folder."""
    return parts[-1].endswith(suffix) and not any(part.startswith(HIDDEN) for part in parts)


def data_files(folder: Path, suffix: str = SUFFIX) -> list[Path]:
    """Return the files of a local folder that hold messages, in the order in which they are read.
    Folders behind symbolic links are no part of it. Raises OSError."""
    files = []
    for place, inside, names in os.walk(folder):
        inside[:] = [name for name in inside if not name.startswith(HIDDEN)]
        files += [Path(place, name) for name in names if is_data([name], suffix)]
    return sorted((file for file in files if file.is_file()), key=str)
