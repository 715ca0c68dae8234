"""Tests of what the test process does to parsing (tests/parsing.py)."""

import ast
import gc
from collections.abc import Iterator

import pytest


class ParsesWhenCollected:
    """Garbage in a circle whose finalizer parses, as the report of a failed finalizer does."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        self.parse_deeper(3)

    def parse_deeper(self, frames: int) -> None:
        if frames:
            self.parse_deeper(frames - 1)
        else:
            ast.parse("a + b")


@pytest.fixture
def _eager_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_eager_collector")
def test_a_collection_in_the_middle_of_parsing_does_no_harm() -> None:
    source = "x = 1\n" * 2000
    for _ in range(20):
        for _ in range(20):
            ParsesWhenCollected()
        assert len(ast.parse(source).body) == 2000
    assert gc.isenabled()
