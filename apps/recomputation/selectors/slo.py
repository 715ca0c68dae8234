"""Compare service-level objectives with what was measured lately.

An SLO's target must hold in a share of its window. Of rates and losses the samples of agents are
looked at, which are kept for half an hour: at most the last LONGEST_S of the window, in steps of
STEP_S. Delays are judged minute by minute (apps/pipeline), a minute or two later.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from apps.catalog.models import Quantity, Slo
from apps.common.formatting import figure, percent
from apps.pipeline.domain.error_budget import window_minutes
from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.domain.verdicts import SHORT, Evidence
from apps.pipeline.models import JudgedMinute
from apps.pipeline.selectors.objectives import latest_minutes
from apps.systems.models import System
from apps.telemetry.models import Sample

STEP_S = 5
LONGEST_S = 300
LEAST_STEPS = 3
"""With fewer measured steps an objective has no reading."""

MINUTES = 5
"""So many are looked at where minutes are judged."""
RATES = frozenset({Quantity.RATE_PER_S, Quantity.LOSS_RATIO})


@dataclass(frozen=True, slots=True, kw_only=True)
class SloReading:
    """Hold the reading of one objective; `share_held` is None where its quantity is not
    measured."""

    name: str
    share_held: float | None
    objective: float
    sentence: str

    @property
    def missed(self) -> bool:
        """Return whether the target held in less than the objective's share of the measured
        time."""
        return self.share_held is not None and self.share_held < self.objective


@dataclass(slots=True)
class _Step:
    """Hold the rates of one topic in one step, in msg/s, summed over brokers."""

    offered: float = 0.0
    passed: float = 0.0
    shed: float = 0.0


def slo_readings(system: System) -> list[SloReading]:
    """Return every SLO of the system, by name, in four queries at most."""
    slos = list(Slo.objects.filter(system=system).select_related("topic").order_by("name"))
    if not slos:
        return []
    steps = _steps(system, max(min(slo.window_s, LONGEST_S) for slo in slos))
    delays = latest_minutes([slo for slo in slos if slo.quantity not in RATES], MINUTES)
    return [
        _reading(slo, steps.get(slo.topic.name, {}))
        if slo.quantity in RATES
        else _reading_of_minutes(slo, delays[slo.pk])
        for slo in slos
    ]


def _steps(system: System, seconds: int) -> dict[str, dict[int, _Step]]:
    """Return the rates of each topic by step, counted back from now."""
    now = timezone.now()
    rows = Sample.objects.filter(
        broker__system=system, at__gte=now - timedelta(seconds=seconds), at__lte=now
    ).values_list("broker_id", "at", "payload")
    count: dict[tuple[int, int], int] = defaultdict(int)
    kept = []
    for broker, at, payload in rows:
        index = int((now - at).total_seconds() // STEP_S)
        count[broker, index] += 1
        kept.append((broker, index, payload.get("flows", {})))
    steps: dict[str, dict[int, _Step]] = defaultdict(lambda: defaultdict(_Step))
    for broker, index, flows in kept:
        share = 1 / count[broker, index]
        for topic, row in flows.items():
            step = steps[topic][index]
            step.offered += share * float(row.get("offered_per_s") or 0.0)
            step.passed += share * float(row.get("passed_per_s") or 0.0)
            step.shed += share * float(row.get("shed_per_s") or 0.0)
    return steps


def _reading(slo: Slo, steps: dict[int, _Step]) -> SloReading:
    last = min(slo.window_s, LONGEST_S) // STEP_S
    seen = [step for index, step in sorted(steps.items()) if index < max(1, last)]
    held = _held(slo, seen)
    return _share(slo, held, STEP_S, _latest(slo, seen[0]) if seen else "", LEAST_STEPS)


def _reading_of_minutes(slo: Slo, minutes: Sequence[JudgedMinute]) -> SloReading:
    within = min(MINUTES, window_minutes(slo.window_s))
    held = [minute.has_held for minute in minutes[:within]]
    latest = ""
    if minutes:
        at_gate = " at the gate" if minutes[0].evidence == Evidence.GATE else ""
        latest = (
            f"{figure(1000 * minutes[0].value)} ms{at_gate}, allowed {figure(1000 * slo.target)}"
        )
    return _share(slo, held, MINUTE_S, latest, min(LEAST_STEPS, within))


def _share(slo: Slo, held: Sequence[bool], step_s: int, latest: str, least: int) -> SloReading:
    """Return the reading of steps of this length, in each of which the target held or not; of
    fewer than `least` there is none."""
    if len(held) < least:
        return SloReading(
            name=slo.name, share_held=None, objective=slo.objective, sentence="not measured"
        )
    share = sum(held) / len(held)
    return SloReading(
        name=slo.name,
        share_held=share,
        objective=slo.objective,
        sentence=f"{slo.name} of {slo.topic.name} held in {percent(share, 1)} of the last "
        f"{len(held) * step_s} s, wanted are {percent(slo.objective, 1)} (latest {latest})",
    )


def _held(slo: Slo, seen: Sequence[_Step]) -> list[bool]:
    """Return step by step whether the target held."""
    if slo.quantity == Quantity.RATE_PER_S:
        # A publisher below the promised rate is served, as long as all its messages pass.
        return [
            step.passed >= slo.target * (1 - SHORT) or step.shed <= SHORT * step.offered
            for step in seen
        ]
    return [_loss(step) <= slo.target for step in seen]


def _loss(step: _Step) -> float:
    """Return the share of offered messages that the gate sheds, which are lost."""
    return step.shed / step.offered if step.offered > 0 else 0.0


def _latest(slo: Slo, step: _Step) -> str:
    if slo.quantity == Quantity.RATE_PER_S:
        return f"{figure(step.passed)} msg/s, wanted {figure(slo.target)}"
    return f"{percent(_loss(step), 2)} lost, allowed {percent(slo.target, 2)}"
