"""Stacks of their own for these tests, each in a temporary state directory, none left behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack import Stack
from config.stack.console import Console
from tests.stack.support import MakeStack, plain_environment


@pytest.fixture
def make_stack(tmp_path: Path) -> Iterator[MakeStack]:
    made: list[Stack] = []

    def make(*parts: str, state_dir: Path | None = None, **given: str) -> Stack:
        stack = Stack(
            state_dir or tmp_path / "state",
            parts,
            console=Console(quiet=True),
            given=plain_environment(**given),
        )
        made.append(stack)
        return stack

    yield make
    for stack in made:
        if stack.site.state_dir.exists():
            stack.down()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Postgres and Valkey, shared by tests that leave them running."""
    stack = Stack(
        tmp_path_factory.mktemp("servers"), ("postgres", "valkey"), given=plain_environment()
    )
    stack.up()
    yield stack
    stack.down()
