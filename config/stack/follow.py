"""Show logs of all parts together, across their rotation."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from config.stack.errors import StackError
from config.stack.signals import Interrupted
from config.stack.site import Site

STEP_S = 0.3


def _logs(site: Site, part: str | None) -> list[Path]:
    logs = sorted(site.log_dir.glob("*.log"))
    if part is None:
        return logs
    chosen = site.log_file(part)
    if chosen not in logs:
        names = ", ".join(path.stem for path in logs) or "none"
        raise StackError(f"no log of {part} in {site.log_dir}; there are: {names}")
    return [chosen]


class _Tail:
    """Read one log file on from the last position."""

    def __init__(self, path: Path, offset: int) -> None:
        self.path = path
        self.inode = path.stat().st_ino
        self.offset = offset
        self.rest = b""

    def lines(self) -> list[str]:
        try:
            stat = self.path.stat()
            if stat.st_ino != self.inode or stat.st_size < self.offset:
                self.inode, self.offset, self.rest = stat.st_ino, 0, b""
            if stat.st_size == self.offset:
                return []
            with self.path.open("rb") as stream:
                stream.seek(self.offset)
                data = self.rest + stream.read()
                self.offset = stream.tell()
        except FileNotFoundError:  # between two moves of a rotation
            return []
        *whole, self.rest = data.split(b"\n")
        return [line.decode(errors="replace") for line in whole]


def follow(site: Site, part: str | None = None, *, stop: Callable[[], bool]) -> None:
    """Print new lines of every log until `stop` says so."""
    tails = {path: _Tail(path, path.stat().st_size) for path in _logs(site, part)}
    while not stop():
        if part is None:
            for path in site.log_dir.glob("*.log"):
                if path not in tails:
                    with suppress(FileNotFoundError):
                        tails[path] = _Tail(path, 0)
        for path, tail in tails.items():
            for line in tail.lines():
                print(f"{path.stem:<12} | {line}", flush=True)
        time.sleep(STEP_S)


def show(site: Site, part: str | None, *, lines: int, following: bool) -> int:
    """Print the end of one log or of all."""
    for path in _logs(site, part):
        content = path.read_text(errors="replace").splitlines()[-lines:]
        if part is None:
            print(f"==> {path}")
        sys.stdout.writelines(f"{line}\n" for line in content)
    if following:
        with suppress(Interrupted):
            follow(site, part, stop=lambda: False)
    return 0
