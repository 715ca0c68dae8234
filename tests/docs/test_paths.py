"""Paths of the repository that the documentation names in backticks are there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {entry.name for entry in ROOT.iterdir() if entry.is_dir() and entry.name[0] != "."}
GENERATED = {"var", ".venv", "node_modules", "__pycache__"}
"""Folders that are made where something runs first."""
TEXTS = sorted(
    path
    for path in (ROOT / "docs").rglob("*.md")
    # Recipes name the files that a newcomer is going to make; test_recipes.py carries them out.
    if path.parent.name != "contributing"
)
PLACEHOLDER = re.compile(r"[<>{}…]|\.\.\.")


def paths(text: str) -> Iterator[str]:
    """What stands in backticks and begins with a folder of the repository."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for quoted in re.findall(r"`([^`\s]+/[^`\s]*)`", prose):
        if (
            quoted.split("/")[0] in FOLDERS
            and GENERATED.isdisjoint(quoted.split("/"))
            and not PLACEHOLDER.search(quoted)
        ):
            yield quoted


def missing(text: str) -> list[str]:
    """The paths of which there is none; a `*` stands for any name."""
    return [path for path in paths(text) if not any(ROOT.glob(path.rstrip("/")))]


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_backticks_is_there(text: Path) -> None:
    assert missing(text.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`weir/nothing.py` and `weir/stop.py`", ["weir/nothing.py"]),
        ("`docs/nothing/`", ["docs/nothing/"]),
        ("`weir/planners/<name>`, `var/log/x`, `weir/**/__pycache__`, `a/b`, `weir.nothing`", []),
        ("`weir/*/plan.py`, `weir/*.md`", ["weir/*.md"]),
        ("```\n`weir/nothing.py`\n```", []),
    ],
)
def test_the_rule_finds_what_it_should(text: str, wrong: list[str]) -> None:
    assert missing(text) == wrong
