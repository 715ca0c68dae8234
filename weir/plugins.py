"""Finds the modules of a plug-in folder; describes and checks their parameters.

A parameter is a dataclass field whose metadata comes from `about`. The same
description checks a value here, is published by the API and draws the form.
"""

from __future__ import annotations

import importlib
import pkgutil
import typing
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from weir.errors import InvalidProblem, UnknownMethod
from weir.reading import members, number, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from dataclasses import Field
    from types import ModuleType

T = TypeVar("T")

_TYPE_NAMES = {float: "number", int: "integer", bool: "boolean", str: "string"}


def discover(package: str, *, beside: Collection[str] = ()) -> dict[str, ModuleType]:
    """The public modules of a package by file name, in alphabetical order, without those named."""
    path = importlib.import_module(package).__path__
    found = (module.name for module in pkgutil.iter_modules(path))
    names = sorted(name for name in found if not name.startswith("_") and name not in beside)
    return {name: importlib.import_module(f"{package}.{name}") for name in names}


class Registry(Generic[T]):
    """The public modules of a package, by the NAME that each defines."""

    def __init__(self, package: str, unknown: str, *, beside: Collection[str] = ()) -> None:
        """Take how the refusal of an unknown name begins; `{}` stands for the name.

        `beside`: public files of the folder that are no members, such as its kernel.
        """
        self._package = package
        self._beside = beside
        self._unknown = unknown
        self._members: Mapping[str, T] | None = None

    def members(self) -> Mapping[str, T]:
        """Map the name of every member to its module.

        Raises TypeError for a module without a NAME: it would be left out without a word.
        """
        if self._members is None:
            modules = discover(self._package, beside=self._beside)
            nameless = [file for file, module in modules.items() if not hasattr(module, "NAME")]
            if nameless:
                raise TypeError(
                    f"{self._package}.{nameless[0]} defines no NAME; the name of a file that only "
                    "helps others begins with an underscore"
                )
            self._members = {module.NAME: cast("T", module) for module in modules.values()}
        return self._members

    def find(self, name: str) -> T:
        """Return the member of this name; raise UnknownMethod, which lists the known ones."""
        try:
            return self.members()[name]
        except KeyError:
            known = ", ".join(self.members())
            raise UnknownMethod(f"{self._unknown.format(name)}; known are {known}") from None


def about(
    *,
    help: str,
    unit: str = "",
    min: float | None = None,
    max: float | None = None,
    exclusive: bool = False,
    type: str | None = None,
    label: str = "",
    choices: Sequence[str] = (),
    only_with: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Field metadata; `exclusive` means that the bounds themselves are not allowed.

    `label`: what people read instead of the name; `choices`: the only values of a string;
    `only_with`: the values of other parameters with which alone this one counts.
    """
    return {
        "help": help,
        "unit": unit,
        "min": min,
        "max": max,
        "exclusive": exclusive,
        "type": type,
        "label": label,
        "choices": tuple(choices),
        "only_with": dict(only_with or {}),
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
        made = spec.default_factory() if spec.default_factory is not MISSING else None
        described.append(
            {
                "name": spec.name,
                "type": type_name,
                "default": made if spec.default is MISSING else spec.default,
                "unit": spec.metadata.get("unit", ""),
                "minimum": spec.metadata.get("min"),
                "maximum": spec.metadata.get("max"),
                "exclusive": spec.metadata.get("exclusive", False),
                "help": spec.metadata.get("help", ""),
                "required": required,
                "label": spec.metadata.get("label", ""),
                "choices": list(spec.metadata.get("choices", ())),
                "only_with": dict(spec.metadata.get("only_with", {})),
            }
        )
    return described


def _checked(value: object, spec: Field[Any], type_name: str) -> object:
    path = spec.name
    if type_name == "boolean":
        if not isinstance(value, bool):
            raise InvalidProblem(path, f"must be true or false, not {shown(value)}")
        return value
    if type_name == "string":
        if not isinstance(value, str):
            raise InvalidProblem(path, f"must be a string, not {shown(value)}")
        choices = spec.metadata.get("choices", ())
        if choices and value not in choices:
            raise InvalidProblem(path, f"must be one of {', '.join(choices)}")
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


@cache
def _keys(cls: Any) -> tuple[AbstractSet[str], tuple[str, ...]]:
    """Names that must be given, in their order, and names that may be left out."""
    left_out = [
        spec.name
        for spec, _ in _specs(cls)
        if spec.default is not MISSING or spec.default_factory is not MISSING
    ]
    names = [spec.name for spec, _ in _specs(cls)]
    return dict.fromkeys(name for name in names if name not in left_out).keys(), tuple(left_out)


def from_dict(cls: type[T], obj: object, path: str = "") -> T:
    """An instance from plain data: unknown and missing keys are errors that name the field."""
    required, optional = _keys(cast("Any", cls))
    # Of a million classes almost every utility gives exactly the keys it must.
    if type(obj) is dict and obj.keys() == required:
        given = obj
    else:
        given = members(obj, path, required, optional)
    try:
        return cls(**given)
    except InvalidProblem as error:
        raise error.below(path) from None
