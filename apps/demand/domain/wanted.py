"""Decide what of a topic or class goes into the optimizer: the model's figure or a measured one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from apps.common.formatting import figure

K = TypeVar("K")


class Subject(StrEnum):
    """What is wanted, and in which unit."""

    TOPIC = "topic"
    """What its publishers offer before its gates, msg/s."""
    CLASS = "class"
    """Consumers: those that are admitted and those that wait."""


Key = tuple[Subject, str]
"""A topic or class by its name."""


class Basis(StrEnum):
    """Whose figures the optimizer uses."""

    TYPED = "typed"
    MEASURED = "measured"
    FORECAST = "forecast"
    LARGEST = "largest"


FORECAST_BASES = sorted([Basis.FORECAST.value, Basis.LARGEST.value])
"""Those that need a forecast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured of a topic or class over the minutes of a window."""

    subject: Subject
    name: str
    minutes: int
    """In how many minutes anybody measured it."""
    low: float
    mean: float
    high: float
    """What is enough in a share of the minutes, the level; `low` what it is below in the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What the model says of a topic or class."""

    least: float
    """What a topic is promised at least; 0 of a class."""
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the demand for a topic or class beside what the model says."""

    measured: float | None = None
    """What was enough lately."""
    forecast: float | None = None
    """What will be enough until the horizon."""


UNKNOWN = Known()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How far measured demand may move what the optimizer uses."""

    basis: Basis
    level: float
    floor_ratio: float
    """It is never below this share of the model's figure."""
    ceiling_ratio: float
    """Nor above this multiple of it."""


def used_amount(subject: Subject, typed: Typed, known: Known, terms: Terms) -> float:
    """Return what snapshots take: msg/s of a topic, consumers of a class."""
    if subject == Subject.TOPIC:
        return used_rate(typed.most, typed.least, known, terms)
    return used_consumers(int(typed.most), known, terms)


def used_rate(typed: float, least: float, known: Known, terms: Terms) -> float:
    """Return the largest rate that a topic's publishers want, msg/s, of a model that says `typed`
    and promises `least`."""
    return max(least, _used(typed, known, terms))


def used_consumers(typed: int, known: Known, terms: Terms) -> int:
    """Return how many consumers want to be admitted."""
    # A mean over samples of whole numbers is as near to one as arithmetic lets it be.
    return math.ceil(_used(typed, known, terms) - 1e-6)


def _used(typed: float, known: Known, terms: Terms) -> float:
    wanted = _wanted(known, terms.basis)
    if wanted is None:
        return typed
    bounded = min(max(wanted, terms.floor_ratio * typed), terms.ceiling_ratio * typed)
    return max(typed, bounded) if terms.basis == Basis.LARGEST else bounded


def _wanted(known: Known, basis: Basis) -> float | None:
    """Return the figure that counts beside the model's; None: there is none."""
    if basis == Basis.TYPED:
        return None
    if basis == Basis.MEASURED:
        return known.measured
    if basis == Basis.FORECAST:
        # What tells nothing of the hours to come is expected to go on.
        return known.measured if known.forecast is None else known.forecast
    return max(
        (each for each in (known.measured, known.forecast) if each is not None), default=None
    )


def change_text(subject: Subject, name: str, before: float, after: float) -> str:
    """Return a change as part of a sentence: `orders wants 1,800 msg/s instead of 912`."""
    unit = "msg/s"
    if subject == Subject.CLASS:
        unit = "consumer" if after == 1 else "consumers"
    return f"{name} wants {figure(after)} {unit} instead of {figure(before)}"


def relative_change(before: float, after: float) -> float:
    """Return by how much of the larger one two figures differ."""
    larger = max(before, after)
    return abs(after - before) / larger if larger > 0 else 0.0


def largest_change(pairs: Iterable[tuple[K, float, float]]) -> tuple[float, K | None]:
    """Return the largest relative change of (key, before, after), and whose it is: the first of
    equals, and nobody's where nothing changed."""
    most, whose = 0.0, None
    for key, before, after in pairs:
        change = relative_change(before, after)
        if change > most:
            most, whose = change, key
    return most, whose


def moved_share(pairs: Iterable[tuple[float, float]]) -> float:
    """Return which share of all demand differs between before and after: what came and what went,
    over the larger figures."""
    moved = total = 0.0
    for before, after in pairs:
        moved += abs(after - before)
        total += max(before, after)
    return moved / total if total > 0 else 0.0
