"""Read and write files for the management commands that solve a problem (docs/formats.md)."""

import fcntl
import json
import os
import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ANSWER, INFEASIBLE, BAD_INPUT, NO_ANSWER, INTERRUPTED = 0, 1, 2, 3, 130
"""The exit statuses of these commands; the last as shells have it."""


class Refused(Exception):
    """Signal bad input; the message is the one line that the user sees."""


def add_solver_arguments(
    parser: ArgumentParser, *, methods: Iterable[str], default: str, time_limit: bool = True
) -> None:
    """Add the options of every command that solves a problem from a file (docs/formats.md).

    `time_limit`: whether its methods can stop early with the best so far.
    """
    parser.add_argument("input", metavar="IN", help="problem file, - for standard input")
    parser.add_argument("--out", required=True, help="result file, - for standard output")
    parser.add_argument("--method", default=default, help=", ".join(methods))
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="method parameter"
    )
    parser.add_argument("--seed", type=int, default=0)
    if time_limit:
        parser.add_argument("--time-limit", type=float, metavar="SECONDS")
    parser.add_argument(
        "--engine", choices=["local", "spark"], default="local", help="same answer from both"
    )


def read_input(path: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`. Raises Refused."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error


def folder_uri(path: str) -> str:
    """Return the address of a folder. Raises Refused."""
    try:
        path.encode()
    except UnicodeError as error:
        raise Refused(f"{path!a}: is not UTF-8; rename the folder") from error
    return Path(path).absolute().as_uri()


def check_writable(path: str) -> None:
    """Check that the file can be written before the computation starts. Raises Refused."""
    if path == "-":
        return
    folder = Path(path).absolute().parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise Refused(f"{path}: cannot be written; name a file in a folder that exists")


def write_output(path: str, content: bytes) -> None:
    """Write the whole file or nothing: a reader never sees half a result."""
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    target = Path(path).absolute()
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, delete=False) as part:
        part.write(content)
    os.chmod(part.name, 0o644)
    os.replace(part.name, target)


@contextmanager
def new_folder(path: str) -> Iterator[Path]:
    """Give a folder to write into, which gets its name when all is written: a reader never sees
    half a result. Raises Refused."""
    try:
        target = Path(path).resolve()
        # Who writes Parquet has no other names.
        str(target).encode()
        if target.is_dir() and any(target.iterdir()):
            raise Refused(f"{path}: is not empty; name a folder that is not there yet")
        if os.path.lexists(target) and not target.is_dir():
            raise Refused(f"{path}: is a file; name a folder that is not there yet")
        if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            raise Refused(f"{path}: cannot be written; name a folder inside one that exists")
        # Of a long name the beginning: what comes behind it must fit, too.
        prefix = f".{target.name[:40]}.unfinished-"
        unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix))
    except OSError as error:
        raise Refused(f"{path[:100]}: cannot be written: {error.strerror}") from error
    except (RuntimeError, UnicodeError) as error:
        raise Refused(f"{path!a}: is no name of a folder; name another") from error
    try:
        unfinished.chmod(0o755)
        yield unfinished
        unfinished.replace(target)
    except OSError as error:
        raise Refused(f"{error.filename or path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def kept_folder(path: str) -> Iterator[Path]:
    """Give a folder that one command at a time changes; it is made where it is not there yet.
    Raises Refused."""
    try:
        target = Path(path).resolve()
        str(target).encode()
        target.mkdir(exist_ok=True)
        handle = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise Refused(f"{path}: cannot be made; name a folder inside one that exists") from None
    except (FileExistsError, NotADirectoryError):
        raise Refused(f"{path}: is a file; name a folder") from None
    except OSError as error:
        raise Refused(f"{path[:100]}: cannot be written: {error.strerror}") from error
    except (RuntimeError, UnicodeError) as error:
        raise Refused(f"{path!a}: is no name of a folder; name another") from error
    try:
        _lock(handle, path)
        yield target
    except OSError as error:
        raise Refused(f"{error.filename or path}: {error.strerror or error}") from error
    finally:
        os.close(handle)


def _lock(handle: int, path: str) -> None:
    """Lock a folder until this process ends, however that ends. Raises Refused."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(f"{path}: another command changes it; wait until that has ended") from None


def check_limits(*, time_limit_s: float | None = None, seed: int) -> None:
    """Check the time limit and the seed. Raises Refused."""
    if time_limit_s is not None and not time_limit_s > 0:
        raise Refused("--time-limit: must be above 0 seconds")
    if seed < 0:
        raise Refused("--seed: must be 0 or more")


def named_values(texts: Iterable[str]) -> dict[str, Any]:
    """Return the values of repeated `--param NAME=VALUE`; each value is JSON or plain text."""
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Refused(f"--param {text}: write NAME=VALUE")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return values
