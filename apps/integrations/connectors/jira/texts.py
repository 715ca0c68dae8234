"""Write and read texts as the editions of Jira take them.

Cloud takes a document of nodes (Atlassian Document Format); Data Center and the API of requests
take text.
"""

import re
from collections.abc import Iterable
from typing import Any

from apps.integrations.domain.contract import ChangeText

LONGEST_TITLE, LONGEST_TEXT = 255, 30_000
"""Jira takes 32,767 characters of a text."""

_MARKER = re.compile(r"\bweir[0-9a-f]{32}\b")


def marker(key: str) -> str:
    """Return the correlation id as one word, so that a search for words finds it whole."""
    return f"weir{key.replace('-', '')}"


def markers(text: object) -> set[str]:
    """Return the correlation ids that a text, or a document, holds as such words."""
    if isinstance(text, str):
        return set(_MARKER.findall(text))
    parts = text.values() if isinstance(text, dict) else text if isinstance(text, list) else ()
    return {word for part in parts for word in markers(part)}


def title_of(text: ChangeText) -> str:
    """Return the summary: one line."""
    return " ".join(text.title.split())[:LONGEST_TITLE]


def sections_of(text: ChangeText) -> list[tuple[str, str]]:
    """Return the parts of a description, each with its heading."""
    parts = (
        ("What changes", text.description),
        ("Why", text.justification),
        ("How it is carried out", text.implementation),
        ("Way back", text.back_out),
        ("How its effect is checked", text.test),
    )
    # Last, and in full, whatever was left out before: a lost answer is looked for by it.
    return [*((name, part) for name, part in parts if part), ("In Weir", f"{marker(text.key)}")]


def plain(sections: Iterable[tuple[str, str]]) -> str:
    """Return sections as text in which a line may be a heading."""
    *before, last = (f"h3. {heading}\n\n{body}" for heading, body in sections)
    return "\n\n".join(["\n\n".join(before)[:LONGEST_TEXT], last])


def document(sections: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return sections as a document of nodes."""
    content: list[dict[str, Any]] = []
    for heading, body in sections:
        words = [{"type": "text", "text": heading}]
        content.append({"type": "heading", "attrs": {"level": 3}, "content": words})
        content += paragraphs(body)
    return {"version": 1, "type": "doc", "content": content}


def document_of(text: str) -> dict[str, Any]:
    """Return a text without headings as a document of nodes."""
    return {"version": 1, "type": "doc", "content": paragraphs(text)}


def paragraphs(text: str) -> list[dict[str, Any]]:
    """Return a paragraph for each block of lines; a node of text may not be empty."""
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", text[:LONGEST_TEXT])]
    made = []
    for block in blocks:
        nodes: list[dict[str, Any]] = []
        for line in block.split("\n"):
            if nodes:
                nodes.append({"type": "hardBreak"})
            if line:
                nodes.append({"type": "text", "text": line})
        if nodes:
            made.append({"type": "paragraph", "content": nodes})
    return made
