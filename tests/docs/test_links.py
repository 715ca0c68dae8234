"""What the documentation points at is there, and its table of contents lists all of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").glob("*.md")]
)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def anchors(text: Path) -> set[str]:
    """Of its headings, as a page of a repository makes them."""
    headings = re.findall(r"^#+ (.+)$", text.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in headings}


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(text: Path) -> None:
    wrong = []
    for link in LINK.findall(text.read_text(encoding="utf-8")):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (text.parent / path).resolve() if path else text
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def test_the_table_of_contents_lists_every_text() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in LINK.findall(index.read_text())}
    assert {path.name for path in (ROOT / "docs").rglob("*.md") if path not in listed} == {
        "README.md"
    }
