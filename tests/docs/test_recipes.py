"""Every recipe for newcomers, carried out: its files are laid down and its commands are run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.recipes import ROOT, Recipe, changed, lay, recipe, run

FOLDER = ROOT / "docs" / "contributing"
RECIPES = sorted(path.stem for path in FOLDER.glob("*.md"))
COPIED = {"page": ("frontend",)}


def test_contributing_leads_to_every_recipe() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(docs/contributing/(\w[\w-]*)\.md\)", text)) == RECIPES


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    # The front end is built for this one.
    [pytest.param(name, marks=pytest.mark.thorough if name == "page" else ()) for name in RECIPES],
)
def test_the_recipe_works(name: str, tmp_path: Path) -> None:
    what = recipe((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    assert what.files
    assert what.commands
    tree = tmp_path / "weir"
    lay(what, tree, copied=COPIED.get(name, ()))
    python = " ".join(path for path in (*what.files, *what.changes) if path.endswith(".py"))
    style = [f".venv/bin/ruff {how} {python}" for how in ("check", "format --check") if python]
    for command in (*style, *what.commands):
        answer = run(command, tree)
        assert answer.returncode == 0, f"{command}\n{answer.stdout[-6000:]}{answer.stderr[-3000:]}"
    for path in what.files:
        assert not (ROOT / path).exists()


@pytest.mark.slow
def test_the_recipes_fit_each_other_and_are_typed(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    changes: dict[str, list[str]] = {}
    for name in RECIPES:
        what = recipe((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
        files |= what.files
        for path, pieces in what.changes.items():
            changes.setdefault(path, []).extend(pieces)
    tree = tmp_path / "weir"
    lay(Recipe(files=files, changes=changes, commands=()), tree)
    code = [path for path in (*files, *changes) if path.endswith(".py")]
    typed = " ".join(path for path in code if not path.startswith("tests/"))
    # What `make check` knows of the rest, in a copy: only what recipes change is read anew.
    cache = tmp_path / "cache"
    if (ROOT / ".mypy_cache").exists():
        shutil.copytree(ROOT / ".mypy_cache", cache)
    answer = run(f".venv/bin/mypy --cache-dir {cache} {typed}", tree)
    assert answer.returncode == 0, answer.stdout


def test_the_recipe_of_an_action_names_every_file_that_knows_kinds() -> None:
    text = (FOLDER / "action-kind.md").read_text(encoding="utf-8")
    code = [
        path
        for room in ("agent", "apps", "spark_tasks", "frontend/src")
        for path in (ROOT / room).rglob("*.*")
        if path.suffix in (".py", ".ts", ".tsx") and "test" not in path.name
    ]
    known = {
        str(path.relative_to(ROOT))
        for path in code
        if "migrations" not in path.parts and '"serve_class"' in path.read_text(encoding="utf-8")
    }
    assert known
    assert {path for path in known if path not in text} == set()


def test_a_block_names_its_file() -> None:
    assert recipe("`a.py`\n\n```python\nx = 1\n```\n").files == {"a.py": "x = 1\n"}
    assert recipe("`a`\n\n```diff\n+b\n@@\n+c\n```\n").changes == {"a": ["+b\n", "+c\n"]}
    for text in ("```python\nx = 1\n```\n", "`a`\n\n```diff\n+b\n```\n\n```diff\n+c\n```\n"):
        with pytest.raises(ValueError, match="name the file"):
            recipe(text)


def test_a_change_fits_one_place_or_none() -> None:
    assert changed("a\nb\nc\n", " a\n-b\n+B\n") == "a\nB\nc\n"
    with pytest.raises(ValueError, match="occur 0 times"):
        changed("a\nc\n", " b\n+B\n")
    with pytest.raises(ValueError, match="occur 2 times"):
        changed("a\na\n", " a\n+B\n")
