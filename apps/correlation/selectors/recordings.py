"""Read which recordings of messages lie in the folder of recordings."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from apps.runs.services.gateway import SUFFIX, data_files

LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Describe one recording: a file, or a folder of files that belong together."""

    name: str
    bytes: int
    modified_s: float
    path: Path

    @property
    def modified_at(self) -> datetime:
        """Return when it was changed last."""
        return datetime.fromtimestamp(self.modified_s, UTC)

    @property
    def uri(self) -> str:
        """Return where jobs read it."""
        return self.path.absolute().as_uri()


def recordings() -> list[Recording]:
    """Return all recordings, those that were changed last first."""
    try:
        names = os.listdir(settings.WEIR_RECORDINGS_DIR)
    except OSError:
        return []
    known = [one for name in names if (one := recording_of(name)) is not None]
    return sorted(known, key=lambda one: (-one.modified_s, one.name))


def recording_of(name: str) -> Recording | None:
    """Return the recording of this name; None where the folder has none."""
    if not _is_plain(name):
        return None
    path = Path(settings.WEIR_RECORDINGS_DIR) / name
    try:
        files = _files(path)
        sizes = [(each.stat().st_size, each.stat().st_mtime) for each in files]
    except OSError:
        return None
    if not sizes:
        return None
    return Recording(
        name=name,
        bytes=sum(size for size, _ in sizes),
        modified_s=max(modified for _, modified in sizes),
        path=path,
    )


def _is_plain(name: str) -> bool:
    """Return whether it names something in the folder itself, and can be written down."""
    if not name or len(name) > LONGEST or name.startswith(".") or set(name) & set("/\\\0"):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:  # a name that was written in another encoding
        return False
    return True


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.name.endswith(SUFFIX) else []
    return data_files(path)
