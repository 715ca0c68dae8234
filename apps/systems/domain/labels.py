"""Say which labels an object may have, and read how a list is narrowed by them."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from apps.common.formatting import counted

MOST_LABELS = 32
LONGEST_VALUE = 200
KEY = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")
KEY_RULE = (
    "a key has 1 to 63 letters (A to Z), digits and . _ - /, and begins and ends with a letter or "
    "digit"
)


NO_TEXT = ("Cc", "Cs", "Zl", "Zp")
"""Categories of what no line of text holds: control characters, half characters, line breaks."""


def is_one_line(text: str) -> bool:
    """Return whether a text is one line, without control characters."""
    return not any(unicodedata.category(character) in NO_TEXT for character in text)


def label_problem(labels: Any) -> str:
    """Return why these cannot be the labels of an object, in one sentence; empty: they can."""
    if not isinstance(labels, dict):
        return "Labels are texts by key, such as team: port."
    if len(labels) > MOST_LABELS:
        return f"{counted(len(labels), 'label')}; an object has at most {MOST_LABELS}."
    for key, value in labels.items():
        problem = key_problem(key) or _value_problem(key, value)
        if problem:
            return problem
    return ""


def key_problem(key: Any) -> str:
    """Return why this cannot be the key of a label; empty: it can."""
    if isinstance(key, str) and KEY.fullmatch(key):
        return ""
    return f'"{str(key)[:80]}" is no key of a label: {KEY_RULE}.'


def _value_problem(key: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"The value of {key} is no text: write it in quotes."
    if len(value) > LONGEST_VALUE:
        return f"The value of {key} has {len(value)} characters; at most {LONGEST_VALUE}."
    if value != value.strip():
        return f"The value of {key} begins or ends with a space."
    if not is_one_line(value):
        return f"The value of {key} holds a control character, such as a line break."
    return ""


@dataclass(frozen=True, slots=True)
class Selector:
    """A label that objects have to have: `team=port`, or `team` with any value."""

    key: str
    value: str | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Read `team=port`, or `team`. Raises ValueError with a sentence where no object can have
        such a label."""
        key, equals, value = text.partition("=")
        problem = key_problem(key) or _value_problem(key, value)
        if problem:
            raise ValueError(problem)
        return cls(key, value if equals else None)

    def __str__(self) -> str:
        return self.key if self.value is None else f"{self.key}={self.value}"

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels has it."""
        return self.key in labels and self.value in (None, labels[self.key])

    def lookup(self, column: str) -> dict[str, Any]:
        """Return by what the database finds the rows that have it in this column."""
        if self.value is None:
            return {f"{column}__has_key": self.key}
        return {f"{column}__contains": {self.key: self.value}}
