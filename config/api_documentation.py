"""Gather what apps add to the published API's documentation, in `api/documentation.py`.

    TAGS         group of operations -> what it is about
    ENUM_NAMES   name of a fixed set of values -> where its choices are
    MEANINGS     name of a fixed set -> value -> what it means
    MACHINES     name of a fixed set of states -> the table of its transitions
    REQUESTS     operation, such as `POST /studies` -> an example of its body
    TABLES       operation whose body may be a table -> an example of that

Each may be left out. The module holds plain data: it is read with the settings, before any model.
"""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def documented(app_names: Iterable[str], what: str) -> dict[str, Any]:
    """Return what all of these apps add under this name."""
    added: dict[str, Any] = {}
    for name in app_names:
        package = f"{name}.api"
        if (
            name.startswith("apps.")
            and find_spec(package)
            and find_spec(f"{package}.documentation")
        ):
            added |= getattr(import_module(f"{package}.documentation"), what, {})
    return added
