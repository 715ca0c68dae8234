"""What names a mutant, and which mutants are in a sample. Nothing here needs Cosmic Ray."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One small bug: the `occurrence`-th place in a file where an operator applies."""

    file: str
    """Relative to the root of the tree."""
    place: str
    """The function or class that the line is in, with those around it; empty outside of all."""
    line: int
    end_line: int
    operator: str
    occurrence: int
    text: str
    """The line as it is without the bug."""
    nth: int
    """Counts from 0 the mutants that this operator makes of lines of this text in this place."""

    @property
    def key(self) -> str:
        """Names the mutant as long as its line and the function around it keep their names."""
        return f"{self.file} | {self.place} | {self.operator} | {self.text} | {self.nth}"


def places_of(source: str) -> Callable[[int], str]:
    """Returns a function that names the innermost function or class of a line, such as
    `Router.route`."""
    spans: list[tuple[int, int, str]] = []

    def walk(node: ast.AST, around: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inside = around
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = (*around, child.name)
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                spans.append((first, child.end_lineno or first, ".".join(inside)))
            walk(child, inside)

    walk(ast.parse(source), ())

    def place(line: int) -> str:
        # `walk` adds what is around first, so that the last that holds the line is the innermost.
        return next((name for first, last, name in reversed(spans) if first <= line <= last), "")

    return place


def chosen(mutants: Iterable[Mutant], size: int, seed: int) -> list[Mutant]:
    """`size` of the mutants, each equally likely.

    A hash of the seed and the key ranks each mutant, whichever others there are. So an edit of one
    function keeps the sample elsewhere, but for the few that its new mutants displace.
    """

    def rank(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} | {mutant.key}".encode()).digest()

    return sorted(mutants, key=rank)[:size]
