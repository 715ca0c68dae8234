"""One broker and one resource: what was measured, and what the load is explained by."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from weir.utility import FloatArray


class Kind(StrEnum):
    """Name what a coefficient multiplies."""

    IDLE = "idle"
    """Nothing: the load of a broker without messages."""
    FLOW = "flow"
    """A_i: the rate of flow i at the broker."""
    CLASS = "class"
    """B_j: rate of the flow x admitted consumers of class j."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One column. `flow` is the flow whose rate it goes with; empty for the idle load."""

    kind: Kind
    name: str = ""
    flow: str = ""
    old: float | None = None
    """The coefficient that the model holds now."""
    rate_min_per_s: float = 0.0
    rate_max_per_s: float = 0.0
    """Of a flow: the rates at which it may be measured."""
    population_max: int = 0
    """Of a class: the consumers with which it may be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Row t: load (units of the capacity per second) and the regressor of every term then."""

    broker: str
    resource: str
    capacity: float
    terms: tuple[Term, ...]
    loads: FloatArray
    design: FloatArray
    """Points x terms: 1, r_i, or r_i n_j."""

    def column(self, kind: Kind, name: str = "") -> int | None:
        """Where a term stands; None when the case has none such."""
        for index, term in enumerate(self.terms):
            if term.kind is kind and term.name == name:
                return index
        return None

    def populations(self, index: int) -> FloatArray:
        """Consumers of the class in column `index` at every point where its flow moved."""
        flow = self.column(Kind.FLOW, self.terms[index].flow)
        if flow is None:
            return np.empty(0)
        rates = self.design[:, flow]
        moved = rates > 0
        return np.asarray(self.design[moved, index] / rates[moved])

    def predicted(self) -> FloatArray:
        """Load at every point by the coefficients the model holds now; an unknown one counts 0."""
        old = np.array([term.old or 0.0 for term in self.terms])
        return np.asarray(self.design @ old)
