"""All mutants of the code under test, and a random sample of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutants.operators import OPERATORS

ROOMS = ("weir/coordination", "agent", "apps/executions", "apps/plans", "apps/accounts")
LEFT_OUT = ("/migrations/", "/__main__.py", "agent/traffic/", "/management/")
"""Schema history, and the demo's load: neither keeps a promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One small bug: the `occurrence`-th place in a file where an operator applies."""

    file: str
    """Relative to the root of the tree."""
    line: int
    end_line: int
    operator: str
    occurrence: int
    text: str
    """The line as it is without the bug."""
    nth: int
    """Which one of those that this operator makes of lines of this text in the file, from 0."""

    @property
    def key(self) -> str:
        """Names the mutant while the line stays as it is, wherever in its file it stands."""
        return f"{self.file} | {self.operator} | {self.text} | {self.nth}"

    def code(self, source: str) -> str:
        """The file's text with the bug in it."""
        mutated = mutate_code(source, OPERATORS[self.operator](), self.occurrence)
        assert mutated is not None
        return str(mutated)


def files(root: Path) -> list[Path]:
    """The files under test, in order of their names."""
    found = [path for room in ROOMS for path in (root / room).rglob("*.py")]
    return sorted(path for path in found if not any(part in str(path) for part in LEFT_OUT))


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    """Every mutant of one file."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    nodes = list(ast_nodes(get_ast(source)))
    for name, kind in OPERATORS.items():
        operator = kind()
        seen: Counter[str] = Counter()
        places = [(node, *place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, start, end) in enumerate(places):
            if not (_of_annotation(node) or _tunable(node)):
                text = lines[start[0] - 1].strip()
                yield Mutant(
                    file=str(path.relative_to(root)),
                    line=start[0],
                    end_line=end[0],
                    operator=name,
                    occurrence=occurrence,
                    text=text,
                    nth=seen[text],
                )
                seen[text] += 1


def _of_annotation(node: object) -> bool:
    """Whether a node only says of which type something is, or decorates it."""
    while node is not None:
        if getattr(node, "type", "") in ("tfpdef", "annassign", "decorator"):
            # The value of an annotated assignment counts, its type does not.
            return getattr(node, "type", "") != "annassign"
        node = getattr(node, "parent", None)
    return False


def _tunable(node: object) -> bool:
    """Whether a node is a number that somebody chose (a timeout, a length, a port) rather than
    one that is right or wrong: one more of it is no bug."""
    return getattr(node, "type", "") == "number" and getattr(node, "value", "") not in ("0", "1")


def sample(root: Path, size: int, seed: int, only: Sequence[str] = ()) -> list[Mutant]:
    """`size` mutants, each equally likely; `only`: of files that begin with one of these."""
    every = [
        mutant
        for path in files(root)
        if not only or str(path.relative_to(root)).startswith(tuple(only))
        for mutant in mutants_of(root, path)
    ]
    return random.Random(seed).sample(every, min(size, len(every)))
