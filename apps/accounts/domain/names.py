"""Check which sign-in and display names an account may have, so that none imitates another."""

# ruff: noqa: RUF001 - this file deals with letters that look like others

import re
import unicodedata

ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
RESERVED = frozenset({"weir", "schedule", "trigger", "system"})
"""Names under which Weir itself acts, or that a reader would take for it."""

# Letters of other alphabets that look like these Latin ones.
_LOOK_ALIKE = str.maketrans(
    {"а": "a", "с": "c", "ԁ": "d", "е": "e", "ё": "e", "ғ": "f", "ɡ": "g", "һ": "h", "і": "i"}
    | {"ї": "i", "ι": "i", "ı": "i", "ј": "j", "о": "o", "ο": "o", "р": "p", "ρ": "p", "ѕ": "s"}
    | {"г": "r", "т": "t", "τ": "t", "у": "y", "ѵ": "v", "ԝ": "w", "ѡ": "w", "ω": "w", "х": "x"}
    | {"м": "m", "ԛ": "q", "υ": "u", "ս": "u", "ν": "v", "ε": "e", "α": "a"}
)


def username_error(username: str) -> str:
    """Return what is wrong with a sign-in name, in a sentence; empty if nothing is."""
    if not ALLOWED.fullmatch(username):
        return (
            "Only the letters a to z, digits and . _ @ + - are allowed, "
            "and the first must be a letter or a digit."
        )
    return _reserved(username)


def display_name_error(name: str) -> str:
    """Return what is wrong with a name that people see; empty if nothing is."""
    if any(unicodedata.category(letter).startswith("C") for letter in name):
        return "Control and invisible characters are not allowed."
    return _reserved(name)


def _reserved(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_LOOK_ALIKE).strip()
    if plain in RESERVED or plain.startswith("weir:"):
        return f'"{name}" reads like a name of Weir itself; choose another one.'
    return ""
