"""Commands end with one line, and a folder of results is there whole or not at all."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management.base import OutputWrapper

from apps.common.command_files import Refused, new_folder
from apps.runs.management.command_status import exit_with_status


def test_folder_gets_its_name_when_all_is_written(tmp_path: Path) -> None:
    with new_folder(str(tmp_path / "log")) as folder:
        (folder / "gull").touch()
        assert not (tmp_path / "log").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["log", "gull"]


def write_and(log: Path, then: Callable[[Path], object]) -> None:
    """Write a folder of one file and do something before it is whole."""
    with new_folder(str(log)) as folder:
        (folder / "mine").touch()
        then(folder)


def test_what_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        raise MemoryError

    (tmp_path / "log").mkdir()
    with pytest.raises(MemoryError):
        write_and(tmp_path / "log", fail)
    assert [path.name for path in tmp_path.rglob("*")] == ["log"]


def test_folder_that_was_filled_meanwhile_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def fill(folder: Path) -> None:
        log.mkdir()
        (log / "gull").touch()

    with pytest.raises(Refused, match="not empty"):
        write_and(log, fill)
    assert [path.name for path in tmp_path.rglob("*")] == ["log", "gull"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("x" * 300, "cannot be written: File name too long"), ("\udcff", "is no name of a folder")],
)
def test_names_that_no_folder_can_have_are_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        write_and(tmp_path / name, lambda folder: None)
    assert list(tmp_path.iterdir()) == []


def test_link_to_an_empty_folder_fills_that(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    write_and(tmp_path / "link", lambda folder: None)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["mine"]
    write_and(tmp_path / ("x" * 250), lambda folder: None)


def test_disk_that_is_full_is_one_line(tmp_path: Path) -> None:
    def overflow(folder: Path) -> None:
        with open("/dev/full", "wb", buffering=0) as device:
            device.write(b"gull")

    with pytest.raises(Refused, match="log: No space left on device"):
        write_and(tmp_path / "log", overflow)
    assert list(tmp_path.iterdir()) == []


def test_killed_writer_leaves_no_folder_of_that_name(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from apps.common.command_files import new_folder\n"
        "with new_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'gull').touch()\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "log")]
    done = subprocess.run(command, env=dict(os.environ), timeout=120, check=False)
    assert done.returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".log.unfinished-")
    with new_folder(str(tmp_path / "log")):
        pass
    assert (tmp_path / "log").is_dir()


def test_interruption_is_one_line_and_a_status_of_its_own() -> None:
    def interrupt() -> int:
        raise KeyboardInterrupt

    errors = io.StringIO()
    with pytest.raises(SystemExit) as end:
        exit_with_status(interrupt, name="place", stderr=OutputWrapper(errors))
    assert (end.value.code, errors.getvalue()) == (130, "place: interrupted\n")
