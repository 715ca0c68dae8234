"""Finds the modules of a plug-in folder; describes and checks their parameters.

A parameter is a dataclass field whose metadata comes from `about`. The same
description checks a value here, is published by the API and draws the form.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import typing
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from dataclasses import Field
    from types import ModuleType

LARGEST_NUMBER = 1e30
"""Above this a product of three inputs could leave the range of a double."""

T = TypeVar("T")

SMALLEST_NUMBER = 1e-30
"""Closer to 0 a quotient could leave it; 0 itself is allowed."""

MAX_SHOWN = 60
"""Characters of a wrong value that a message repeats."""

_TYPE_NAMES = {float: "number", int: "integer", bool: "boolean", str: "string"}


def discover(package: str) -> dict[str, ModuleType]:
    """The public modules of a package by file name, in alphabetical order."""
    path = importlib.import_module(package).__path__
    names = sorted(m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))
    return {name: importlib.import_module(f"{package}.{name}") for name in names}


def about(
    *,
    help: str,
    unit: str = "",
    min: float | None = None,
    max: float | None = None,
    exclusive: bool = False,
    type: str | None = None,
) -> dict[str, Any]:
    """Field metadata; `exclusive` means that the bounds themselves are not allowed."""
    return {
        "help": help,
        "unit": unit,
        "min": min,
        "max": max,
        "exclusive": exclusive,
        "type": type,
    }


_SPECS: dict[type, tuple[tuple[Field[Any], str], ...]] = {}


def _specs(cls: type) -> tuple[tuple[Field[Any], str], ...]:
    if cls in _SPECS:
        return _SPECS[cls]
    hints = typing.get_type_hints(cls)
    specs = []
    for spec in fields(cls):
        name = spec.metadata.get("type") or _TYPE_NAMES.get(hints[spec.name])
        if name is None:
            raise TypeError(f"{cls.__name__}.{spec.name}: say its type in about(type=...)")
        specs.append((spec, name))
    return _SPECS.setdefault(cls, tuple(specs))


def describe(cls: type) -> list[dict[str, Any]]:
    """A JSON-able description of each parameter, in the order of the class."""
    described = []
    for spec, type_name in _specs(cls):
        required = spec.default is MISSING and spec.default_factory is MISSING
        described.append(
            {
                "name": spec.name,
                "type": type_name,
                "default": None if required else spec.default,
                "unit": spec.metadata.get("unit", ""),
                "minimum": spec.metadata.get("min"),
                "maximum": spec.metadata.get("max"),
                "exclusive": spec.metadata.get("exclusive", False),
                "help": spec.metadata.get("help", ""),
                "required": required,
            }
        )
    return described


def number(value: object, path: str) -> float:
    """`value` as a finite float; booleans and strings are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidProblem(path, f"must be a number, not {shown(value)}")
    if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:  # NaN fails this too
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidProblem(path, "must be finite; give an ordinary number")
        raise InvalidProblem(path, f"must lie within ±{LARGEST_NUMBER:g}; use a larger unit")
    if -SMALLEST_NUMBER < value < SMALLEST_NUMBER and value != 0:
        raise InvalidProblem(path, f"closer to 0 than {SMALLEST_NUMBER:g}; give 0 or change units")
    return float(value) + 0.0  # -0.0 becomes 0.0


def shown(value: object) -> str:
    """How an error message names a wrong value: its JSON type, or the short value itself."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 3] + "..."
        if not text.isprintable():  # a message is one line and can be encoded
            text = text.encode("unicode_escape").decode("ascii")
        return f'"{text}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        return "a huge number"
    return f"{value!r}" if isinstance(value, int | float) else type(value).__name__


def _checked(value: object, spec: Field[Any], type_name: str) -> object:
    path = spec.name
    if type_name == "boolean":
        if not isinstance(value, bool):
            raise InvalidProblem(path, f"must be true or false, not {shown(value)}")
        return value
    if type_name == "string":
        if not isinstance(value, str):
            raise InvalidProblem(path, f"must be a string, not {shown(value)}")
        return value
    if type_name not in ("number", "integer"):
        return value  # the class itself knows how
    result: float = number(value, path)
    if type_name == "integer":
        if result != int(result):
            raise InvalidProblem(path, f"must be a whole number, not {shown(value)}")
        result = int(result)
    low, high = spec.metadata.get("min"), spec.metadata.get("max")
    exclusive = spec.metadata.get("exclusive", False)
    if low is not None and (result <= low if exclusive else result < low):
        raise InvalidProblem(path, f"must be {'above' if exclusive else 'at least'} {low:g}")
    if high is not None and (result >= high if exclusive else result > high):
        raise InvalidProblem(path, f"must be {'below' if exclusive else 'at most'} {high:g}")
    return result


def check_fields(instance: Any) -> None:
    """Check every field of a dataclass against its metadata; whole numbers become floats."""
    for spec, type_name in _specs(type(instance)):
        checked = _checked(getattr(instance, spec.name), spec, type_name)
        object.__setattr__(instance, spec.name, checked)


def from_dict(cls: type[T], obj: object, path: str = "") -> T:
    """An instance from plain data: unknown and missing keys are errors that name the field."""
    if not isinstance(obj, dict):
        raise InvalidProblem(path, f"must be an object, not {shown(obj)}")
    specs = {spec.name: spec for spec, _ in _specs(cls)}
    for key in obj:
        if key not in specs:
            known = ", ".join(specs)
            raise InvalidProblem(path, f"unknown key {shown(key)}; known are {known}")
    for name, spec in specs.items():
        if name not in obj and spec.default is MISSING and spec.default_factory is MISSING:
            raise InvalidProblem(path, f'missing key "{name}"; add it')
    try:
        return cls(**obj)
    except InvalidProblem as error:
        raise error.below(path) from None
