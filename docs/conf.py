"""How Sphinx makes a site of these texts (`make docs`).

The table of contents is README.md, which people read in the repository, too: the site's own is
made from its links. A link to a Markdown file outside of this folder becomes a download, like
links to code, because Sphinx knows pages of this folder only.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Weir"
html_title = "Weir"
extensions = ["myst_parser"]
root_doc = "README"
myst_heading_anchors = 4
nitpicky = True
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False

DOCS = Path(__file__).resolve().parent
PART = re.compile(r"^\*\*(?P<title>.+?)\*\*", flags=re.MULTILINE)
PAGE = re.compile(r"\]\((?P<page>(?!\.\./)[^()\s:]+)\.md(?:#[^()\s]*)?\)")
MARKDOWN = re.compile(r"\]\((?P<path>\.\./[^()\s#]+\.md)\)")


def tables_of_contents(text: str) -> str:
    """Return one hidden table of contents for each part that README.md sets in bold type."""
    parts = list(PART.finditer(text))
    ends = [part.start() for part in parts[1:]] + [len(text)]
    tables = []
    for part, end in zip(parts, ends, strict=True):
        pages = dict.fromkeys(PAGE.findall(text[part.end() : end]))
        lines = [":hidden:", f":caption: {part['title']}", "", *pages]
        tables.append("\n".join(["```{toctree}", *lines, "```"]))
    return "\n\n".join(tables)


def downloads(text: str, folder: Path) -> str:
    """Mark the links to Markdown files outside of the site as downloads."""

    def marked(link: re.Match[str]) -> str:
        is_page = (folder / link["path"]).resolve().is_relative_to(DOCS)
        return link[0] if is_page else f"](path:{link['path']})"

    return MARKDOWN.sub(marked, text)


def prepare(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the text of a page, which Sphinx passes as a list of one, before it is parsed."""
    source[0] = downloads(source[0], (DOCS / page).parent)
    if page == root_doc:
        source[0] += "\n\n" + tables_of_contents(source[0])


def setup(app: Sphinx) -> None:
    """Connect `prepare` to the reading of a page."""
    app.connect("source-read", prepare)
