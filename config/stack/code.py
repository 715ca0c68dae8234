"""Detect whether the code changed since the processes were started from it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from config.stack.site import ROOT

FOLDERS = ("config", "apps", "weir", "spark_tasks", "agent")


def _sources(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((root / folder).rglob("*.py"))
    yield from sorted((root / "requirements").glob("*.txt"))
    # The web server lists the built pages once, at its start.
    yield from (root / "frontend" / "dist").glob("index.html")


def fingerprint(root: Path = ROOT) -> str:
    """Return a hash that changes when any file changes that one of our processes loads."""
    digest = hashlib.sha256()
    for path in _sources(root):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
