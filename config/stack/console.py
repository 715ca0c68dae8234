"""Print what `up` and `down` do: one plain line per part, coloured only on a terminal."""

import os
import sys
from typing import TextIO

_COLOURS = {"good": "32", "bad": "31", "warn": "33", "dim": "2"}


class Console:
    """Print progress; a quiet console prints nothing (tests, callers from Python)."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self.stream = stream or sys.stdout
        self.quiet = quiet
        self.coloured = self.stream.isatty() and "NO_COLOR" not in os.environ
        self.lines: list[str] = []

    def say(self, text: str = "", tone: str = "") -> None:
        self.lines.append(text)
        if self.quiet:
            return
        if self.coloured and tone:
            text = f"\033[{_COLOURS[tone]}m{text}\033[0m"
        print(text, file=self.stream, flush=True)

    def part(self, name: str, state: str, detail: str = "", seconds: float | None = None) -> None:
        took = "" if seconds is None else f"{seconds:5.1f} s"
        tone = {"ready": "good", "running": "dim", "failed": "bad"}.get(state, "")
        self.say(f"  {name:<12} {state:<9} {took:>7}  {detail}".rstrip(), tone)
