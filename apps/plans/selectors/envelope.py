"""The envelope that a plan assumes, against what agents measure now."""

from dataclasses import dataclass

from apps.common.words import figure
from apps.plans.models import Plan
from apps.telemetry.selectors.measured import measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One bound and its quantity now; None: nobody measures it."""

    name: str
    unit: str
    low: float
    high: float
    measured: float | None

    @property
    def inside(self) -> bool:
        """Within the bounds, or not measured."""
        return self.measured is None or self.low <= self.measured <= self.high

    @property
    def sentence(self) -> str:
        """What was measured against what is allowed."""
        now = "not measured" if self.measured is None else f"{figure(self.measured)} {self.unit}"
        return f"{self.name} {now.strip()}, allowed {figure(self.low)} to {figure(self.high)}"


def measured_envelope(plan: Plan) -> list[Measured]:
    """Every bound of the plan with what publishers offer now; a bound is named as its flow."""
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
