"""All mutants of the code under test, and a random sample of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutants.mutant import Mutant, chosen, places_of
from tests.mutants.operators import OPERATORS

ROOMS = ("weir/coordination", "agent", "apps/executions", "apps/plans", "apps/accounts")
LEFT_OUT = (
    "/migrations/",
    "/__main__.py",
    "agent/traffic.py",
    "agent/publisher.py",
    "/management/",
)
"""Schema history, and the demo's load: neither keeps a promise."""


def files(root: Path) -> list[Path]:
    """The files under test, in order of their names."""
    paths = [path for room in ROOMS for path in (root / room).rglob("*.py")]
    return sorted(path for path in paths if not any(part in str(path) for part in LEFT_OUT))


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    """Every mutant of one file."""
    source = path.read_text(encoding="utf-8")
    lines, place_of = source.splitlines(), places_of(source)
    nodes = list(ast_nodes(get_ast(source)))
    for name, kind in OPERATORS.items():
        operator = kind()
        seen: Counter[tuple[str, str]] = Counter()
        places = [(node, *place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, start, end) in enumerate(places):
            if not (_of_annotation(node) or _of_signature(node) or _tunable(node)):
                place, text = place_of(start[0]), lines[start[0] - 1].strip()
                yield Mutant(
                    file=str(path.relative_to(root)),
                    place=place,
                    line=start[0],
                    end_line=end[0],
                    operator=name,
                    occurrence=occurrence,
                    text=text,
                    nth=seen[place, text],
                )
                seen[place, text] += 1


def mutated(mutant: Mutant, source: str) -> str:
    """The file's text with the bug in it."""
    code = mutate_code(source, OPERATORS[mutant.operator](), mutant.occurrence)
    assert code is not None
    return str(code)


def _of_annotation(node: object) -> bool:
    """Whether a node only says of which type something is, or decorates it."""
    while node is not None:
        if getattr(node, "type", "") in ("tfpdef", "annassign", "decorator"):
            # The value of an annotated assignment counts, its type does not.
            return getattr(node, "type", "") != "annassign"
        node = getattr(node, "parent", None)
    return False


def _of_signature(node: object) -> bool:
    """Whether a node is the star or slash that parts a function's parameters, and no product: with
    a slash for the star nothing changes for callers that name their arguments."""
    parent = getattr(getattr(node, "parent", None), "type", "")
    return getattr(node, "value", "") in ("*", "/") and parent in ("parameters", "param")


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
    return chosen(every, size, seed)
