"""Keep records that arrived in batches as files that the pipeline reads (docs/formats.md).

They lie below a folder of the system as `TABLE/date=2026-11-29/batch-ID.parquet`, a file for each
day (UTC) of a batch. A file is named by its batch, so who lands a batch again writes the same files
over.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from weir.errors import InvalidProblem

MOST_DAYS = 1000
"""Days over which the rows of a batch may spread: each has a file of its own."""
DAY_S = 86_400
DATE = "date="
FILE = re.compile(r"\.?batch-([0-9a-f-]{36})\.parquet")


def land(uri: str, table: str, batch: uuid.UUID, rows: Any) -> None:
    """Keep rows of a batch below the folder `uri` of its system, on the disk once this returns.
    Raises InvalidProblem where they are of too many days, OSError where they cannot be written."""
    if not len(rows):
        return
    system, root = FileSystem.from_uri(uri)
    day = np.floor(rows["at_s"].to_numpy() / DAY_S).astype(np.int64)
    days = np.unique(day)
    if len(days) > MOST_DAYS:
        message = f"the rows are of {len(days):,} days, at most {MOST_DAYS:,} are taken; split them"
        raise InvalidProblem("rows", message)
    for each in days.tolist():
        folder = f"{root}/{table}/{DATE}{np.datetime64(each, 'D')}"
        system.create_dir(folder, recursive=True)
        part = rows if len(days) == 1 else rows.filter(pa.array(day == each))
        _write(system, f"{folder}/batch-{batch}.parquet", part)


def batch_files(
    uri: str, table: str, batch: uuid.UUID, since_s: float, until_s: float
) -> list[str]:
    """Return the paths of a batch's files; its rows are of `since_s` to `until_s`."""
    system, root = FileSystem.from_uri(uri)
    first, last = (
        np.datetime64(int(since_s // DAY_S), "D"),
        np.datetime64(int(until_s // DAY_S), "D"),
    )
    folders = system.get_file_info(FileSelector(f"{root}/{table}", allow_not_found=True))
    paths = [
        f"{each.path}/batch-{batch}.parquet"
        for each in folders
        if each.base_name.startswith(DATE)
        and first <= np.datetime64(each.base_name[len(DATE) :]) <= last
    ]
    return sorted(each.path for each in system.get_file_info(paths) if each.type == FileType.File)


def remove_files(uri: str, *, kept: Callable[[uuid.UUID], bool], unchanged_since_s: float) -> int:
    """Remove the files of batches that are not kept and were written before `unchanged_since_s`
    (Unix seconds), and folders that are empty then. Returns how many files were removed."""
    system, root = FileSystem.from_uri(uri)
    inside = system.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
    removed, full = 0, set()
    for each in inside:
        if each.type != FileType.File:
            continue
        named = FILE.match(each.base_name)
        young = each.mtime_ns / 1e9 >= unchanged_since_s
        # What begins with a dot is what somebody died over while writing it.
        finished = not each.base_name.startswith(".")
        if named is None or young or (finished and kept(uuid.UUID(named[1]))):
            full.add(each.path.rpartition("/")[0])
            continue
        system.delete_file(each.path)
        removed += 1
    for each in inside:
        if each.base_name.startswith(DATE) and each.path not in full:
            _remove_if_empty(system, each.path)
    return removed


def _remove_if_empty(system: Any, folder: str) -> None:
    # On a local disk a batch may land meanwhile: only the disk itself can tell. Elsewhere a folder
    # is a prefix of names, and gone with the last of them.
    if isinstance(system, LocalFileSystem):
        try:
            os.rmdir(folder)
        except OSError:
            return


def _write(system: Any, path: str, rows: Any) -> None:
    folder, _, name = path.rpartition("/")
    unfinished = f"{folder}/.{name}-{uuid.uuid4()}"
    parquet.write_table(rows, unfinished, filesystem=system, compression="zstd")
    local = isinstance(system, LocalFileSystem)
    if local:
        _sync(unfinished)
    system.move(unfinished, path)
    if local:
        _sync(folder)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
