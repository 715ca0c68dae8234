"""`manage.py run_pipeline --update`: facts of records that arrive one after the other are those of
all of them at once, whatever dies between."""

import contextlib
import fcntl
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystemHandler, LocalFileSystem, PyFileSystem

from spark_tasks import io, kept_sums
from spark_tasks.pipeline import absorb_here, compute
from tests.apps.pipeline.record_folders import (
    BEGAN_S,
    FACTS,
    facts_of,
    records,
    run,
    spoiled,
    write,
)

HOURS = 5
APART = 13
"""Changes of the storage between two deaths that are tried."""


def arrive(source: Path, seed: int, *, rows: int = 400, files: int = 4) -> list[Path]:
    """Write records of some hours with rows that do not fit, and a file that has another table's
    columns; return the files in the order in which they arrive, which is any."""
    chance = np.random.default_rng(seed)
    bad = spoiled()
    for table, good in records(seed, rows).items():
        for row in good:
            row["at_s"] += 3600.0 * int(chance.integers(HOURS))
        write(source, table, [*good, *bad.get(table, [])], files=files)
    table = pa.table({"at_s": [BEGAN_S] * 3, "topic": ["t"] * 3})
    parquet.write_table(table, source / "requests" / "who.parquet")
    files = sorted(source.rglob("*.parquet"))
    return [files[at] for at in chance.permutation(len(files))]


def arrivals(source: Path, into: Path, seed: int, parts: int) -> Iterator[None]:
    """Let the files of a folder arrive in another one, some at a time."""
    for some in np.array_split(np.array(arrive(source, seed)), parts):
        for file in some:
            target = into / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        yield


def same(out: Path, other: Path) -> bool:
    """Return whether two folders have the same facts in the same order."""
    assert (out / "summary.json").read_bytes() == (other / "summary.json").read_bytes()
    return all(facts_of(out, table).equals(facts_of(other, table)) for table in FACTS)


@pytest.mark.parametrize("window_s", [1, 60, 3600, 5000])
@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("part_rows", [40, kept_sums.PART_ROWS])
def test_facts_of_what_arrives_are_those_of_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window_s: int, parts: int, part_rows: int
) -> None:
    monkeypatch.setattr(kept_sums, "PART_ROWS", part_rows)
    source, into = tmp_path / "source", tmp_path / "in"
    window = ("--window", str(window_s))
    for _ in arrivals(source, into, window_s, parts):
        assert run(into, tmp_path / "out", "--update", *window)[0] == 0
        shutil.rmtree(tmp_path / "whole", ignore_errors=True)
        assert run(into, tmp_path / "whole", *window)[0] == 0
        assert same(tmp_path / "out", tmp_path / "whole")
    several = [file.name.split("-")[2] for file in (tmp_path / "out" / "topics").iterdir()]
    assert any(number != "00000" for number in several) == (part_rows == 40 and window_s < 3600)
    assert len(facts_of(tmp_path / "out", "quarantined"))
    assert not (tmp_path / "whole" / "_kept").exists()


def test_files_that_were_read_may_go_and_nothing_new_changes_nothing(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    arrive(source, 3)
    assert run(source, out, "--update")[0] == 0
    shutil.copytree(out, tmp_path / "before")
    assert run(source, out, "--update")[0] == 0
    assert same(out, tmp_path / "before")
    (source / "messages" / "part-0.parquet").unlink()
    assert run(source, out, "--update")[0] == 0
    assert same(out, tmp_path / "before")


def test_spans_without_new_records_are_not_written_again(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    row = {"topic": "t", "publisher": "p"}
    for hour in range(3):
        write(source, "messages", [{"at_s": BEGAN_S + 3600.0 * hour, **row}])
        (source / "messages" / "part-0.parquet").rename(source / "messages" / f"{hour}.parquet")
        assert run(source, out, "--update")[0] == 0
    steps = [file.stem.rpartition("-")[2] for file in sorted((out / "topics").glob("*"))]
    assert steps == ["1", "2", "3"]


def test_file_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    rows = [{"at_s": BEGAN_S, "topic": "t", "publisher": "p"}]
    write(source, "messages", rows)
    whole = (source / "messages" / "part-0.parquet").read_bytes()
    late = source / "messages" / "late.parquet"
    late.write_bytes(whole[:-5])
    assert run(source, out, "--update") == (0, "")
    assert facts_of(out, "topics")["messages"].to_pylist() == [1]
    late.write_bytes(whole)
    assert run(source, out, "--update") == (0, "")
    assert facts_of(out, "topics")["messages"].to_pylist() == [2]
    old = source / "messages" / "old.parquet"
    old.write_bytes(whole[:-5])
    os.utime(old, (time.time() - 3600, time.time() - 3600))
    status, errors = run(source, out, "--update")
    assert (status, "cannot be read as Parquet" in errors) == (0, True)
    assert facts_of(out, "quarantined")["file"].to_pylist() == ["messages/old.parquet"]


def test_what_cannot_be_brought_up_to_date_is_refused_and_stays(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    arrive(source, 4)
    assert run(source, tmp_path / "plain")[0] == 0
    status, errors = run(source, tmp_path / "plain", "--update")
    assert (status, "nothing is kept in it" in errors) == (2, True)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").write_text("mine")
    assert run(source, tmp_path / "own", "--update")[0] == 2
    assert [file.name for file in (tmp_path / "own").iterdir()] == ["notes.txt"]
    status, errors = run(source, tmp_path, "--update")
    assert (status, "lies in" in errors) == (2, True)
    assert run(source, out, "--update")[0] == 0
    shutil.copytree(out, tmp_path / "before")
    status, errors = run(source, out, "--update", "--window", "30")
    assert (status, "windows of 60 s, not 30 s" in errors) == (2, True)
    assert run(source, out)[0] == 2
    write(source, "messages", [{"at_s": BEGAN_S, "topic": "t", "publisher": "p"}])
    status, errors = run(source, out, "--update")
    assert (status, "messages/part-0.parquet: has another size or time" in errors) == (2, True)
    assert same(out, tmp_path / "before")
    status, errors = run(tmp_path / "nowhere", tmp_path / "new", "--update")
    assert (status, "no such folder" in errors) == (2, True)
    (tmp_path / "file").write_text("")
    assert run(source, tmp_path / "file", "--update")[0] == 2
    assert run(source, tmp_path / "no" / "folder", "--update")[0] == 2


def test_state_that_is_damaged_is_refused(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    arrive(source, 4)
    assert run(source, out, "--update")[0] == 0
    (out / "_kept" / "state.json").write_text("")
    status, errors = run(source, out, "--update")
    assert (status, "state.json is damaged" in errors) == (2, True)


def test_file_that_could_not_be_used_is_read_once_it_is_mended(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    write(source, "messages", [{"at_s": BEGAN_S, "topic": "t", "publisher": "p"}])
    whole = (source / "messages" / "part-0.parquet").read_bytes()
    slow = source / "messages" / "slow.parquet"
    slow.write_bytes(whole[:-5])
    os.utime(slow, (time.time() - 61, time.time() - 61))
    future = source / "messages" / "future.parquet"
    future.write_bytes(b"junk")
    os.utime(future, (time.time() + 1e6, time.time() + 1e6))
    for _ in range(2):
        assert run(source, out, "--update")[0] == 0
        assert len(facts_of(out, "quarantined")) == 2
        assert facts_of(out, "topics")["messages"].to_pylist() == [1]
    slow.write_bytes(whole)
    assert run(source, out, "--update")[0] == 0
    assert facts_of(out, "topics")["messages"].to_pylist() == [2]


def test_file_that_was_renamed_counts_once_and_a_copy_twice(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    write(source, "messages", [{"at_s": BEGAN_S, "topic": "t", "publisher": "p"}])
    first = source / "messages" / "part-0.parquet"
    os.utime(first, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    assert run(source, out, "--update")[0] == 0
    first.rename(source / "messages" / "renamed.parquet")
    for _ in range(2):
        assert run(source, out, "--update")[0] == 0
        assert facts_of(out, "topics")["messages"].to_pylist() == [1]
    shutil.copy2(source / "messages" / "renamed.parquet", first)
    assert run(source, out, "--update")[0] == 0
    assert facts_of(out, "topics")["messages"].to_pylist() == [1]
    shutil.copy2(first, source / "messages" / "copy.parquet")
    assert run(source, out, "--update")[0] == 0
    assert facts_of(out, "topics")["messages"].to_pylist() == [2]


def test_zeros_of_both_signs_are_one(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    sample = {"at_s": BEGAN_S, "broker": "b", "metric": "m"}
    write(source, "samples", [{**sample, "value": -0.0}, {**sample, "value": 0.0}])
    assert run(source, out)[0] == 0
    facts = facts_of(out, "brokers")
    assert [math.copysign(1.0, facts[name][0].as_py()) for name in ("least", "most")] == [1.0, 1.0]


def test_file_that_changes_while_it_is_read_is_left_for_the_next_time(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    row = {"at_s": BEGAN_S, "topic": "t", "publisher": "p"}
    path = write(source, "messages", [row]) / "messages" / "part-0.parquet"
    out.mkdir()

    def absorb(kept: kept_sums.Kept, records: Any, report: Any) -> Any:
        """Read what another writer replaces meanwhile, the first time."""
        if kept.step == 0 and not changed:
            changed.append(True)
            write(source, "messages", [row, row])
            os.utime(path, (BEGAN_S, BEGAN_S))
        return absorb_here(kept, records, report)

    changed: list[bool] = []
    where = (source.as_uri(), out.as_uri())
    options: dict[str, Any] = {"window_s": 60, "keep": True, "most_rows": 100}
    compute(*where, absorb=absorb, report=lambda *_: None, **options)
    assert not list(out.rglob("*.parquet"))
    compute(*where, absorb=absorb, report=lambda *_: None, **options)
    assert facts_of(out, "topics")["messages"].to_pylist() == [2]


def test_two_commands_do_not_change_the_same_facts(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    arrive(source, 5)
    assert run(source, out, "--update")[0] == 0
    handle = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        status, errors = run(source, out, "--update")
    finally:
        os.close(handle)
    assert (status, "another command changes it" in errors) == (2, True)
    assert run(source, out, "--update")[0] == 0


class Died(Exception):
    """The end of a process, at a change of the storage."""


class Mortal(FileSystemHandler):
    """The local disk for so many changes, the last of which is not made."""

    def __init__(self, changes: int) -> None:
        self._disk = LocalFileSystem()
        self.left = changes

    def _change(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Died

    def get_type_name(self) -> str:
        return "mortal"

    def normalize_path(self, path: str) -> str:
        return str(self._disk.normalize_path(path))

    def get_file_info(self, paths: list[str]) -> Any:
        return self._disk.get_file_info(paths)

    def get_file_info_selector(self, selector: FileSelector) -> Any:
        return self._disk.get_file_info(selector)

    def open_input_stream(self, path: str) -> Any:
        return self._disk.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        return self._disk.open_input_file(path)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._change()
        self._disk.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._change()
        self._disk.delete_dir(path)

    def delete_file(self, path: str) -> None:
        self._change()
        self._disk.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        self._change()
        self._disk.move(src, dest)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self._change()
        return self._disk.open_output_stream(path)

    def _refuse(self, *arguments: Any) -> Any:
        raise NotImplementedError

    delete_dir_contents = delete_root_dir_contents = copy_file = open_append_stream = _refuse


def step_by_step(source: Path, out: Path) -> bytes:
    """Bring facts up to date in steps of a file each; return the summary."""
    return compute(
        source.as_uri(),
        out.as_uri(),
        window_s=60,
        keep=True,
        most_rows=1,
        absorb=absorb_here,
        report=lambda *_: None,
    )


def test_who_dies_at_any_change_of_the_storage_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, whole = tmp_path / "in", tmp_path / "whole"
    arrive(source, 6, rows=2, files=1)
    assert run(source, whole)[0] == 0
    summary = (whole / "summary.json").read_bytes()

    class Storage:
        """What gives the disk that dies."""

        disk = Mortal(1 << 30)

        @classmethod
        def from_uri(cls, uri: str) -> tuple[Any, str]:
            return PyFileSystem(cls.disk), LocalFileSystem.from_uri(uri)[1]

    monkeypatch.setattr(kept_sums, "FileSystem", Storage)
    monkeypatch.setattr(io, "FileSystem", Storage)
    deaths = 0
    for changes in range(0, 1000, APART):
        out = tmp_path / f"out-{changes}"
        out.mkdir()
        Storage.disk = Mortal(changes)
        try:
            step_by_step(source, out)
            break
        except Died:
            deaths += 1
        # Who comes next dies, too, while tidying up or with the next step.
        Storage.disk = Mortal(changes % 11)
        with contextlib.suppress(Died):
            step_by_step(source, out)
        Storage.disk = Mortal(1 << 30)
        assert step_by_step(source, out) + b"\n" == summary
        (out / "summary.json").write_bytes(summary)
        assert same(out, whole)
    assert 20 < deaths < 1000 / APART


def test_follower_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    source, into, out = tmp_path / "source", tmp_path / "in", tmp_path / "out"
    command = [sys.executable, "manage.py", "run_pipeline", str(into), "--out", str(out)]
    follower, written = None, set[str]()

    def files() -> set[str]:
        # Folders may go while they are looked through, which `rglob` takes for an error.
        return {f"{folder}/{name}" for folder, _, names in os.walk(out) for name in names}

    def until(there: Callable[[], bool]) -> None:
        ends_s = time.monotonic() + 120
        while not there():
            assert follower is None or follower.poll() is None
            assert time.monotonic() < ends_s
            time.sleep(0.01)

    try:
        for _ in arrivals(source, into, 7, 4):
            if follower is not None:
                # It is killed in the middle of what it writes.
                until(lambda seen=written: bool(files() - seen))
                follower.kill()
                follower.communicate()
                written = files()
            follower = subprocess.Popen([*command, "--follow", "0.1"], stderr=subprocess.PIPE)
        assert run(into, tmp_path / "whole")[0] == 0
        whole, summary = tmp_path / "whole" / "summary.json", out / "summary.json"
        until(lambda: summary.exists() and summary.read_bytes() == whole.read_bytes())
    finally:
        assert follower is not None
        follower.kill()
        _, errors = follower.communicate()
    assert b"quarantined" in errors
    assert same(out, tmp_path / "whole")
    status, message = run(into, out, "--follow", "0")
    assert (status, "--follow: must be 0.1 to 86,400 s" in message) == (2, True)


@pytest.mark.spark
@pytest.mark.slow
def test_both_engines_go_on_with_what_the_other_kept(
    spark_server: str, tmp_path: Path, settings: Any
) -> None:
    settings.WEIR_DATA_DIR = tmp_path / "data"
    source, into, out = tmp_path / "source", tmp_path / "in", tmp_path / "out"
    engines = iter(["spark", "local", "spark"])
    for _ in arrivals(source, into, 8, 3):
        status, errors = run(into, out, "--update", "--engine", next(engines))
        assert status == 0, errors
        shutil.rmtree(tmp_path / "whole", ignore_errors=True)
        assert run(into, tmp_path / "whole")[0] == 0
        assert same(out, tmp_path / "whole")
    status, errors = run(into, out, "--update", "--engine", "spark", "--window", "30")
    assert (status, "windows of 60 s, not 30 s" in errors) == (2, True)
