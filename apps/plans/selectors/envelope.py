"""Compare the envelope that a plan assumes with what agents measure now."""

from dataclasses import dataclass

from apps.common.formatting import figure
from apps.plans.models import Plan
from apps.telemetry.selectors.measured import measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Hold one bound and its present quantity; None when nothing is measured."""

    name: str
    unit: str
    low: float
    high: float
    measured: float | None

    @property
    def inside(self) -> bool:
        """Return whether it is within the bounds, or not measured."""
        return self.measured is None or self.low <= self.measured <= self.high

    @property
    def sentence(self) -> str:
        """Return what was measured against what is allowed."""
        now = "not measured" if self.measured is None else f"{figure(self.measured)} {self.unit}"
        return f"{self.name} {now.strip()}, allowed {figure(self.low)} to {figure(self.high)}"


def measured_envelope(plan: Plan) -> list[Measured]:
    """Return every bound of the plan with what publishers offer now; a bound is named as its
    flow."""
    bounds = plan.content.envelope
    now = measured(plan.system).offered if bounds else {}
    return [
        Measured(
            name=bound.name,
            unit=bound.unit,
            low=bound.low,
            high=bound.high,
            measured=now.get(bound.name),
        )
        for bound in bounds
    ]
