"""Telemetry records into cases: averages over windows, joined over all brokers.

A document is JSON lines: first the model (what terms a broker's load has), then one record per
broker and second. A flow's rate is measured where it comes in and used wherever it passes, so
records are first summed by window (`totals_of`; any partition of the records, `merged` in any
order gives the same sums up to rounding), and then joined (`cases_of`).

A window is left out at a broker where the load was not measured; where a broker at which one of
its flows comes in was silent for more than half of it, since a rate that nobody measured is not a
rate of 0; or where the admitted consumers moved by more than STEADY: connecting costs work that
no coefficient describes (Bhola 2006, V.D).

Model (plain form), one entry of `cases` per broker and resource:

    {"window_s": 10, "cases": [{"broker", "resource", "measure": "cpu" | "storage" | "network",
      "capacity", "cores": null, "terms": [{"kind", "name", "flow", "old", "rate_min_per_s",
      "rate_max_per_s", "population_max"}]}]}

Record: {"broker", "at" (s), "interval_s", "cpu_ratio", "cores", "passed": {flow: msg/s},
"message_bytes": {flow: mean}, "admitted": {class: consumers}}; what was not measured is left out.
A record that stands for many has [mean, least, most] of the consumers.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weir.errors import InvalidProblem
from weir.fitting.case import Case, Kind, Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from weir.utility import FloatArray

STEADY = 0.05
"""Share of its consumers by which a class may move within a window."""

HEARD = 0.5
"""Share of the time that a broker measured its load in which the sources of its flows must have
measured too."""


class Slot(NamedTuple):
    """What is summed: `kind` of a `name` in window number `window`; a class or load at a broker."""

    window: int
    kind: str
    name: str
    broker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Sum of value x weight, of weights, and the extremes."""

    amount: float
    weight: float
    least: float
    most: float

    @property
    def mean(self) -> float:
        """Return the weighted mean; 0 where the weight is 0."""
        return self.amount / self.weight if self.weight > 0 else 0.0

    def plus(self, other: Total) -> Total:
        """Add the other total to this one."""
        return Total(
            amount=self.amount + other.amount,
            weight=self.weight + other.weight,
            least=min(self.least, other.least),
            most=max(self.most, other.most),
        )


Totals = dict[Slot, Total]


def _number(value: Any) -> float | None:
    sound = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if sound and math.isfinite(value) and value >= 0 else None


def _seen(record: Mapping[str, Any]) -> Iterable[tuple[str, str, str, float, float]]:
    """Yield (kind, name, broker, value, weight) of everything that one record says; what a record
    of many says of its extremes has no weight."""
    broker = str(record["broker"])
    seconds = _number(record.get("interval_s")) or 1.0
    busy, cores = _number(record.get("cpu_ratio")), _number(record.get("cores"))
    yield "heard", "", broker, 1.0, seconds
    if busy is not None:
        yield "cpu", "", broker, busy, seconds
    if cores:
        yield "cores", "", broker, cores, seconds
    passed = record.get("passed") or {}
    sizes = record.get("message_bytes") or {}
    for flow, rate in passed.items():
        value = _number(rate)
        if value is None:
            continue
        yield "rate", str(flow), broker, value, seconds
        size = _number(sizes.get(flow))
        if size is not None:
            yield "bytes", str(flow), "", size, value * seconds
    for name, count in (record.get("admitted") or {}).items():
        counts = count if isinstance(count, list) else [count]
        for value, weight in zip(map(_number, counts), (seconds, 0.0, 0.0), strict=False):
            if value is not None:
                yield "admitted", str(name), broker, value, weight


def totals_of(lines: Iterable[str | bytes], *, window_s: float) -> Totals:
    """Sums of one partition of the records. Raises InvalidProblem for a line that is none."""
    totals: Totals = {}
    for line in lines:
        try:
            record = json.loads(line)
            window = int(float(record["at"]) // window_s)
            rows = list(_seen(record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidProblem("records", f"not a telemetry record: {error}") from error
        for kind, name, broker, value, weight in rows:
            one = Total(amount=value * weight, weight=weight, least=value, most=value)
            slot = Slot(window, kind, name, broker)
            before = totals.get(slot)
            totals[slot] = one if before is None else before.plus(one)
    return totals


def merged(parts: Iterable[Totals]) -> Totals:
    """Add up the totals of several partitions, slot by slot."""
    whole: Totals = {}
    for part in parts:
        for slot, total in part.items():
            before = whole.get(slot)
            whole[slot] = total if before is None else before.plus(total)
    return whole


class Windows:
    """The sums by what a case asks for."""

    def __init__(self, totals: Totals) -> None:
        self._rates: dict[tuple[int, str], float] = {}
        self._sizes: dict[str, list[tuple[float, float]]] = {}
        self._here: dict[tuple[str, int, str, str], Total] = {}
        self._busy: dict[str, list[int]] = {}
        self._sources: dict[str, set[str]] = {}
        for slot in sorted(totals):
            total = totals[slot]
            if slot.kind == "rate":  # a flow that comes in at several brokers adds up
                key = (slot.window, slot.name)
                self._rates[key] = self._rates.get(key, 0.0) + total.mean
                self._sources.setdefault(slot.name, set()).add(slot.broker)
            elif slot.kind == "bytes":
                self._sizes.setdefault(slot.name, []).append((total.mean, total.weight))
            else:
                self._here[slot.broker, slot.window, slot.kind, slot.name] = total
                if slot.kind == "cpu":
                    self._busy.setdefault(slot.broker, []).append(slot.window)

    def sizes(self, flow: str) -> tuple[list[float], list[float]]:
        """Mean size and messages of every window in which the flow was weighed."""
        rows = self._sizes.get(flow, [])
        return [size for size, _ in rows], [count for _, count in rows]

    def case(self, plain: Mapping[str, Any], terms: tuple[Term, ...]) -> Case:
        """The CPU case of one broker."""
        broker, capacity = str(plain["broker"]), float(plain["capacity"])
        rows, loads = [], []
        for window in self._busy.get(broker, []):
            row = self._row(broker, window, terms) if self._heard(broker, window, terms) else None
            cores = _number(plain.get("cores")) or self._mean(broker, window, "cores")
            if row is None or not cores:
                continue
            rows.append(row)
            loads.append(self._here[broker, window, "cpu", ""].mean / cores * capacity)
        return Case(
            broker=broker,
            resource=str(plain["resource"]),
            capacity=capacity,
            terms=terms,
            loads=np.array(loads, dtype=np.float64),
            design=_table(rows, len(terms)),
        )

    def _mean(self, broker: str, window: int, kind: str) -> float | None:
        total = self._here.get((broker, window, kind, ""))
        return None if total is None else total.mean

    def _heard(self, broker: str, window: int, terms: tuple[Term, ...]) -> bool:
        """Whether every rate that this broker works for was measured while its load was."""
        needed = HEARD * self._here[broker, window, "heard", ""].weight
        sources = {source for term in terms for source in self._sources.get(term.flow, ())}
        told = (self._here.get((source, window, "heard", "")) for source in sources)
        return all(total is not None and total.weight >= needed for total in told)

    def _row(self, broker: str, window: int, terms: tuple[Term, ...]) -> list[float] | None:
        """The regressors of one window; None where consumers came and went."""
        row = []
        for term in terms:
            if term.kind is Kind.IDLE:
                row.append(1.0)
                continue
            rate = self._rates.get((window, term.flow), 0.0)
            if term.kind is Kind.CLASS:
                people = self._here.get((broker, window, "admitted", term.name))
                if people is not None and people.most - people.least > STEADY * people.most:
                    return None
                rate *= 0.0 if people is None else people.mean
            row.append(rate)
        return row


def _table(rows: list[list[float]], width: int) -> FloatArray:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def term_of(plain: Mapping[str, Any]) -> Term:
    """A term from its plain form."""
    return Term(
        kind=Kind(plain["kind"]),
        name=plain.get("name", ""),
        flow=plain.get("flow", ""),
        old=plain.get("old"),
        rate_min_per_s=float(plain.get("rate_min_per_s") or 0.0),
        rate_max_per_s=float(plain.get("rate_max_per_s") or 0.0),
        population_max=int(plain.get("population_max") or 0),
    )
