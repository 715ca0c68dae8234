"""Fill templates of paths and bodies, and find values in answers."""

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from weir.errors import InvalidProblem

_NAME = re.compile(r"\{([a-z_]+)\}")
DEEPEST = 10


def check_path(field: str, path: str, known: Collection[str]) -> None:
    """Raise InvalidProblem unless this is a path below an address, with known placeholders."""
    if not path:
        return
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise InvalidProblem(field, "Begin with /, in ASCII and without spaces.")
    if "#" in path or path.startswith("//"):
        raise InvalidProblem(field, "Write what comes after the address, such as /tickets/{id}.")
    _check_names(field, path, known)


def check_body(field: str, body: Any, known: Collection[str]) -> None:
    """Raise InvalidProblem unless this is an object of JSON with known placeholders."""
    if not isinstance(body, dict):
        raise InvalidProblem(field, 'Write an object such as {"title": "{title}"}.')
    _check_body(field, body, known, 0)


def _check_body(field: str, part: Any, known: Collection[str], depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidProblem(field, f"Nests deeper than {DEEPEST} levels.")
    if isinstance(part, dict | list):
        for value in part.values() if isinstance(part, dict) else part:
            _check_body(field, value, known, depth + 1)
    elif isinstance(part, str):
        _check_names(field, part, known)


def _check_names(field: str, text: str, known: Collection[str]) -> None:
    for name in _NAME.findall(text):
        if name not in known:
            listed = ", ".join(f"{{{one}}}" for one in sorted(known))
            raise InvalidProblem(field, f"There is no {{{name}}} here; there are {listed}.")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a text with its placeholders filled, once: what is put in is no template."""
    return _NAME.sub(lambda match: values.get(match[1], match[0]), template)


def filled_path(template: str, values: Mapping[str, str]) -> str:
    """Return a path with its placeholders filled, so that each stays one part of it."""
    return filled(template, {name: quote(value, safe="") for name, value in values.items()})


def filled_body(template: Any, values: Mapping[str, str]) -> Any:
    """Return a body with its placeholders filled."""
    if isinstance(template, dict):
        return {name: filled_body(part, values) for name, part in template.items()}
    if isinstance(template, list):
        return [filled_body(part, values) for part in template]
    return filled(template, values) if isinstance(template, str) else template


def value_at(answer: Any, path: str) -> Any:
    """Return what stands at a path such as `result.tickets.0.id`; None: nothing."""
    found = answer
    for part in path.split(".") if path else ():
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


def is_at(answer: Any, path: str) -> bool:
    """Return whether a member of this path is there, whatever it holds."""
    place, _, name = path.rpartition(".")
    around = value_at(answer, place)
    return not path or (isinstance(around, Mapping) and name in around)


def text_at(answer: Any, path: str) -> str:
    """Return what stands there as text; empty where nothing does, or something with parts."""
    found = value_at(answer, path) if path else None
    return str(found) if isinstance(found, str | int | float) else ""
