"""Keep records that arrived in batches as files that the pipeline reads (docs/formats.md).

They lie below a folder of the system as `TABLE/date=2026-11-29/batch-ID.parquet`, a file for each
day (UTC) of a batch. A file is named by its batch, so who lands a batch again writes the same files
over.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

DAY_S = 86_400
DATE = "date="
FILE = re.compile(r"\.?batch-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.parquet")


def land(uri: str, table: str, batch: uuid.UUID, rows: Any) -> None:
    """Keep rows of a batch below the folder `uri` of its system, on the disk once this returns, in
    the place of all that a former attempt has left of it. Raises OSError."""
    if not len(rows):
        return
    system, root = FileSystem.from_uri(uri)
    local = isinstance(system, LocalFileSystem)
    day = days_of(rows["at_s"].to_numpy())
    days = np.unique(day).tolist()
    written = []
    for each in days:
        folder = f"{root}/{table}/{DATE}{np.datetime64(each, 'D')}"
        system.create_dir(folder, recursive=True)
        part = rows if len(days) == 1 else rows.filter(pa.array(day == each))
        written.append(f"{folder}/batch-{batch}.parquet")
        _write(system, written[-1], part)
    for path in set(_files_of(system, f"{root}/{table}", batch)) - set(written):
        system.delete_file(path)
    if local:
        _sync(f"{root}/{table}")
        _sync(root)


def unland(uri: str, table: str, batch: uuid.UUID) -> None:
    """Remove the files of a batch that does not come about. Raises OSError."""
    system, root = FileSystem.from_uri(uri)
    for path in _files_of(system, f"{root}/{table}", batch):
        system.delete_file(path)


def days_of(at_s: np.ndarray) -> np.ndarray:
    """Return the day of each moment (Unix seconds), in days since 1970, in UTC."""
    days: np.ndarray = np.floor_divide(at_s, DAY_S).astype(np.int64)
    return days


def batch_files(uri: str, table: str, batch: uuid.UUID) -> list[str]:
    """Return the paths of the files of a batch."""
    system, root = FileSystem.from_uri(uri)
    return _files_of(system, f"{root}/{table}", batch)


def _files_of(system: Any, folder: str, batch: uuid.UUID) -> list[str]:
    days = system.get_file_info(FileSelector(folder, allow_not_found=True))
    paths = [
        f"{each.path}/batch-{batch}.parquet" for each in days if each.base_name.startswith(DATE)
    ]
    return sorted(each.path for each in system.get_file_info(paths) if each.type == FileType.File)


def remove_files(uri: str, *, kept: Callable[[uuid.UUID], bool], unchanged_since_s: float) -> int:
    """Remove the files of batches that are not kept and were written before `unchanged_since_s`
    (Unix seconds), and folders that are empty then. Returns how many files were removed."""
    system, root = FileSystem.from_uri(uri)
    inside = system.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
    removed = 0
    for each in inside:
        if each.type != FileType.File:
            continue
        named = FILE.match(each.base_name)
        young = each.mtime_ns / 1e9 >= unchanged_since_s
        # What begins with a dot is what somebody died over while writing it.
        finished = not each.base_name.startswith(".")
        if named is None or young or (finished and kept(uuid.UUID(named[1]))):
            continue
        system.delete_file(each.path)
        removed += 1
    # Elsewhere than on a disk a folder is a prefix of names, and gone with the last of them.
    if isinstance(system, LocalFileSystem):
        folders = [each.path for each in inside if each.type == FileType.Directory]
        for folder in [*sorted(folders, key=len, reverse=True), root]:
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(folder)
    return removed


def folders_in(uri: str) -> list[str]:
    """Return the names of the folders directly in one."""
    system, root = FileSystem.from_uri(uri)
    inside = system.get_file_info(FileSelector(root, allow_not_found=True))
    return [each.base_name for each in inside if each.type == FileType.Directory]


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
