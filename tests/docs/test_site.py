"""The site of the documentation: every text is in it, and a dead link fails the build."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


OPTIONS = re.search(r"-m sphinx (.+) -d", (ROOT / "Makefile").read_text(encoding="utf-8"))
assert OPTIONS is not None


def build(texts: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    """Build the site with the options of `make docs`."""
    command = [sys.executable, "-m", "sphinx", *OPTIONS[1].split()]
    return subprocess.run(
        [*command, "-d", str(site / "doctrees"), str(texts), str(site)],
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.slow
def test_every_text_is_a_page_of_the_site(tmp_path: Path) -> None:
    answer = build(DOCS, tmp_path)
    assert answer.returncode == 0, answer.stderr
    texts = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert {path for path in texts if not (tmp_path / path).exists()} == set()
    contents = (tmp_path / "README.html").read_text(encoding="utf-8")
    assert {str(path) for path in texts if f'href="{path}"' not in contents} == {"README.html"}
    assert "Algorithms" in contents


DEAD = ("nowhere.md", "glossary.md#nowhere", "../nowhere.md", "../weir/nowhere.py")


@pytest.mark.slow
def test_every_dead_link_fails_the_build(tmp_path: Path) -> None:
    texts = tmp_path / "docs"
    texts.mkdir()
    for name in ("conf.py", "glossary.md"):
        shutil.copy(DOCS / name, texts)
    lines = ["# A", "**B**: [c](glossary.md)", *(f"[d]({link})" for link in DEAD)]
    (texts / "README.md").write_text("\n\n".join(lines) + "\n")
    answer = build(texts, tmp_path / "site")
    assert answer.returncode != 0
    complaints = answer.stderr.splitlines()
    for link in DEAD:
        place = f"README.md:{2 * lines.index(f'[d]({link})') + 1}:"
        assert any(place in one and "nowhere" in one for one in complaints), answer.stderr
