"""Write and read the cells of CSV that spreadsheets open, and recognise what separates them."""

import re

SEPARATORS = ",;\t"
# A cell that begins so would run as a formula in a spreadsheet; the mark in front is doubled where
# it was there before, so that reading takes away exactly what writing added.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(text: str) -> str:
    """Return text so that no spreadsheet takes it for a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def separator_of(first_line: str) -> str:
    """Return what separates the cells of a table whose header is this line."""
    return max(SEPARATORS, key=first_line.count)
