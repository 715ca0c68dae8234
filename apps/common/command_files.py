"""Files of the management commands that read a problem and write an answer (formats.md)."""

import os
import sys
import tempfile
from pathlib import Path

ANSWER, INFEASIBLE, BAD_INPUT, NO_ANSWER = 0, 1, 2, 3
"""Exit statuses."""


class Refused(Exception):
    """Bad input: the message is the one line that the user sees."""


def read_input(path: str) -> bytes:
    """The bytes of a file, of standard input for `-`. Raises Refused."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error


def check_writable(path: str) -> None:
    """Say so before the computation rather than after it. Raises Refused."""
    if path == "-":
        return
    folder = Path(path).absolute().parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise Refused(f"{path}: cannot be written; name a file in a folder that exists")


def write_output(path: str, content: bytes) -> None:
    """All or nothing: a reader never sees half a result."""
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    target = Path(path).absolute()
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, delete=False) as part:
        part.write(content)
    os.chmod(part.name, 0o644)
    os.replace(part.name, target)
