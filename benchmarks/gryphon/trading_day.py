"""Figures 5 and 6: populations change through a trading day.

Four flows, 200 gold, 400 silver and 800 bronze consumers spread equally over them, worth 100 r,
10 r and r each. In each segment of the day (figure 5) a percentage of every class is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.gryphon.model import (
    BEST_EFFORT,
    CPU_PERCENT,
    RATE_MAX,
    ClassSpec,
    FlowSpec,
    linear,
)
from benchmarks.gryphon.simulation import OPTIMIZE_EVERY_S, Moment
from benchmarks.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.gryphon.simulation import Cycle, Second, Trace

NAME = "trading-day"
TITLE = "Trading day (figures 5 and 6)"

FLOWS = 4
TOTAL = {"gold": 200, "silver": 400, "bronze": 800}
WEIGHT = {"gold": 100.0, "silver": 10.0, "bronze": 1.0}
SEGMENTS = (
    ("Start of day", {"gold": 100, "silver": 100, "bronze": 100}),
    ("Coffee break", {"gold": 10, "silver": 25, "bronze": 100}),
    ("After coffee", {"gold": 100, "silver": 100, "bronze": 100}),
    ("Lunch", {"gold": 0, "silver": 5, "bronze": 100}),
    ("After lunch", {"gold": 100, "silver": 100, "bronze": 100}),
    ("End of day", {"gold": 0, "silver": 0, "bronze": 100}),
)
SEGMENT_S = 600
"""The paper gives no duration."""

FLOW_SPECS = tuple(FlowSpec(id=f"flow{i}", kind=BEST_EFFORT) for i in range(FLOWS))


def available(segment: int, tier: str) -> int:
    """Consumers of a tier per flow in a segment."""
    return TOTAL[tier] * SEGMENTS[segment][1][tier] // (100 * FLOWS)


class TradingDay:
    """The scenario."""

    cpu = CPU_PERCENT
    seconds = SEGMENT_S * len(SEGMENTS)

    def moment(self, second: int) -> Moment:
        segment = second // SEGMENT_S
        return Moment(
            flows=FLOW_SPECS,
            classes=tuple(
                ClassSpec(
                    id=f"{flow.id}.{tier}",
                    flow=flow.id,
                    population=available(segment, tier),
                    utility=linear(WEIGHT[tier]),
                )
                for flow in FLOW_SPECS
                for tier in TOTAL
            ),
        )

    def observe(
        self, second: int, rates: Mapping[str, float], populations: Mapping[str, int]
    ) -> None:
        """Nothing of this experiment depends on what was measured."""


def admitted(populations: Mapping[str, int], tier: str) -> int:
    """Consumers of a tier over all flows."""
    return sum(count for name, count in populations.items() if name.endswith(tier))


def mean_rate(rates: Mapping[str, float]) -> float:
    """Mean over the flows, messages per second."""
    return sum(rates.values()) / len(rates)


def _first_cycles(trace: Trace) -> list[Cycle]:
    return [trace.at(k * SEGMENT_S + OPTIMIZE_EVERY_S) for k in range(len(SEGMENTS))]


def _segment(trace: Trace, k: int) -> tuple[Second, ...]:
    return trace.seconds[k * SEGMENT_S : (k + 1) * SEGMENT_S]


def utility_at_full_rate(segment: int) -> float:
    """The best at rate_max, dearest consumers first: what lower rates compete with."""
    left = CPU_PERCENT / RATE_MAX - FLOWS * BEST_EFFORT.a
    utility = 0.0
    for tier, weight in WEIGHT.items():
        count = min(FLOWS * available(segment, tier), int(left / BEST_EFFORT.b))
        left -= count * BEST_EFFORT.b
        utility += weight * RATE_MAX * count
    return utility


def statements(trace: Trace) -> list[Statement]:
    """What section V.A says of figure 6."""
    firsts = _first_cycles(trace)
    gold = [
        (admitted(cycle.result.populations, "gold"), FLOWS * available(k, "gold"))
        for k, cycle in enumerate(firsts)
    ]
    bronze_before_others = [
        SEGMENTS[k][0]
        for k, cycle in enumerate(firsts)
        if admitted(cycle.result.populations, "bronze")
        and any(
            admitted(cycle.result.populations, tier) < FLOWS * available(k, tier)
            for tier in ("gold", "silver")
        )
    ]
    busy, last = firsts[:-1], firsts[-1]
    allocated = [mean_rate(cycle.result.rates) for cycle in busy]
    gains = [c.result.utility / utility_at_full_rate(k) - 1 for k, c in enumerate(firsts)]
    lowest = min(
        min(mean_rate(s.sent) for s in _segment(trace, k)[:OPTIMIZE_EVERY_S])
        for k in range(1, len(SEGMENTS) - 1)
    )
    settled = [
        mean_rate(s.sent) for k in range(len(busy)) for s in _segment(trace, k)[-SEGMENT_S // 2 :]
    ]
    last_rate = mean_rate(last.result.rates)
    counts = ", ".join(f"{have} of {want}" for have, want in gold)
    return [
        Statement(
            key="gold",
            paper="When gold consumers are available they are always admitted.",
            measured=f"gold admitted by segment: {counts}",
            holds=all(have == want for have, want in gold),
        ),
        Statement(
            key="bronze",
            paper="Bronze consumers are admitted only after all available consumers of higher "
            "utility.",
            measured="bronze beside waiting gold or silver: "
            + (", ".join(bronze_before_others) or "in no segment"),
            holds=not bronze_before_others,
        ),
        Statement(
            key="full-rate",
            paper="There is no advantage to lowering the rate in order to admit more lower-class "
            "consumers.",
            measured=f"allocated {min(allocated):.1f} to {max(allocated):.1f} msg/s before the "
            f"end of the day; best utility at most {100 * max(gains[:-1]):.2f} % above the best "
            "at 200 msg/s",
            holds=min(allocated) >= 0.98 * RATE_MAX and max(gains[:-1]) < 0.01,
        ),
        Statement(
            key="near-max",
            paper="The message rate remains near the maximum until the end of the run.",
            measured=f"sent {min(settled):.1f} to {max(settled):.1f} msg/s in the second halves of "
            "the first five segments",
            holds=min(settled) >= 0.95 * RATE_MAX,
        ),
        Statement(
            key="end",
            paper="Where only bronze consumers are available it becomes advantageous to lower the "
            "rate.",
            measured=f"{last_rate:.1f} msg/s and "
            f"{admitted(last.result.populations, 'bronze')} of 800 bronze, "
            f"{100 * gains[-1]:+.2f} % utility against the best at 200 msg/s",
            holds=last_rate < 0.6 * RATE_MAX and gains[-1] > 0,
        ),
        Statement(
            key="dips",
            paper="Periodic dips in message rate occur at segment boundaries, while the server "
            "manages large changes in population.",
            measured=f"the mean rate falls to {lowest:.1f} msg/s after a boundary",
            holds=lowest < 0.95 * min(settled),
        ),
    ]
