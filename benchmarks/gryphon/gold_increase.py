"""Figure 7: the gold population of an expensive flow grows twentyfold.

Two reliable flows and one best-effort flow. `gdfloor` is reliable and hosts gold consumers, 10 of
them until second 1000 and 200 from then on; each flow hosts a bronze class.

The paper gives no bronze populations and no latencies. The 140 bronze consumers per flow are its
"approximately 140". The inherent latency of a reliable message (section III.C) is taken as LOG_S
plus FANOUT_S per admitted consumer, measured with a time constant of SMOOTH_S; a producer waits
for each acknowledgement, so its flow can send 1 / latency messages per second.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.gryphon.model import (
    BEST_EFFORT,
    RATE_MAX,
    RATE_MIN,
    RELIABLE,
    ClassSpec,
    FlowSpec,
    linear,
)
from benchmarks.gryphon.simulation import Moment
from benchmarks.statements import Statement
from weir.fitting.latency_bound import rate_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.gryphon.simulation import Cycle, Trace

NAME = "gold-increase"
TITLE = "Gold increase (figure 7)"

CPU_PERCENT = 34.5
"""At this threshold 10 gold consumers, the second reliable flow at its minimum and 140 bronze
consumers at nearly 200 msg/s fill the server; see docs/gryphon.md."""

GOLD_BEFORE, GOLD_AFTER = 10, 200
BRONZE = 140
INCREASE_AT_S = 1000
LOG_S = 0.004
FANOUT_S = 0.00004
SMOOTH_S = 120.0

GDFLOOR, LOADER, TICKER = "gdfloor", "loader", "ticker"
RELIABLE_FLOWS = (GDFLOOR, LOADER)


def inherent_latency_s(consumers: int) -> float:
    """From receiving a message to acknowledging it, without its wait for the scheduler."""
    return LOG_S + FANOUT_S * consumers


class GoldIncrease:
    """The scenario; it measures latencies."""

    cpu = CPU_PERCENT
    seconds = 2400

    def __init__(self) -> None:
        self.latency_s = dict.fromkeys(RELIABLE_FLOWS, inherent_latency_s(GOLD_BEFORE))

    def rate_bound(self, flow: str) -> float:
        """What the producers of a reliable flow can send, messages per second."""
        bound = rate_bound(producers=1, messages_per_transaction=1.0, ack_s=self.latency_s[flow])
        return max(RATE_MIN, min(RATE_MAX, bound or RATE_MAX))

    def moment(self, second: int) -> Moment:
        gold = GOLD_BEFORE if second < INCREASE_AT_S else GOLD_AFTER
        bronze = [
            ClassSpec(id=f"{flow}.bronze", flow=flow, population=BRONZE, utility=linear(1.0))
            for flow in (GDFLOOR, LOADER, TICKER)
        ]
        return Moment(
            flows=(
                *(
                    FlowSpec(id=flow, kind=RELIABLE, rate_max=self.rate_bound(flow))
                    for flow in RELIABLE_FLOWS
                ),
                FlowSpec(id=TICKER, kind=BEST_EFFORT),
            ),
            classes=(
                ClassSpec(
                    id=f"{GDFLOOR}.gold", flow=GDFLOOR, population=gold, utility=linear(100.0)
                ),
                *bronze,
            ),
            offered={flow: self.rate_bound(flow) for flow in RELIABLE_FLOWS},
        )

    def observe(
        self, second: int, rates: Mapping[str, float], populations: Mapping[str, int]
    ) -> None:
        keep = math.exp(-1.0 / SMOOTH_S)
        for flow in RELIABLE_FLOWS:
            consumers = sum(n for name, n in populations.items() if name.startswith(f"{flow}."))
            now = inherent_latency_s(consumers)
            self.latency_s[flow] = keep * self.latency_s[flow] + (1 - keep) * now


def _bronze(cycle: Cycle, flow: str = TICKER) -> int:
    return cycle.result.populations.get(f"{flow}.bronze", 0)


def statements(trace: Trace) -> list[Statement]:
    """What section V.A says of figure 7."""
    before = trace.at(INCREASE_AT_S - 1)
    after = [c for c in trace.cycles if c.second >= INCREASE_AT_S]
    end = after[-1]
    stingiest = min(after, key=_bronze)
    on_gdfloor = max(_bronze(cycle, GDFLOOR) for cycle in trace.cycles)
    gold = after[0].result.populations[f"{GDFLOOR}.gold"]
    rates = [cycle.result.rates[GDFLOOR] for cycle in (before, after[0], end)]
    bound = next(f.rate_max for f in end.problem.flows if f.id == GDFLOOR)
    settled = [_bronze(cycle) for cycle in trace.cycles if cycle.second >= INCREASE_AT_S + 600]
    return [
        Statement(
            key="initially",
            paper="Initially there are 10 gold consumers on gdfloor and approximately 140 bronze "
            "consumers on the best-effort flow.",
            measured=f"{before.result.populations[f'{GDFLOOR}.gold']} gold, {_bronze(before)} "
            f"bronze at {before.result.rates[TICKER]:.0f} msg/s",
            holds=before.result.populations[f"{GDFLOOR}.gold"] == GOLD_BEFORE
            and abs(_bronze(before) - 140) <= 14,
        ),
        Statement(
            key="never-on-gdfloor",
            paper="Bronze consumers on gdfloor are never admitted: the same utility, but more "
            "expensive.",
            measured=f"at most {on_gdfloor} admitted",
            holds=on_gdfloor == 0,
        ),
        Statement(
            key="decrease",
            paper="When the gold population increases, the bronze population on the best-effort "
            "flow is decreased.",
            measured=f"{gold} gold admitted at once, bronze falls from {_bronze(before)} to "
            f"{_bronze(stingiest)}",
            holds=gold > GOLD_BEFORE and _bronze(stingiest) < 0.5 * _bronze(before),
        ),
        Statement(
            key="latency",
            paper="The higher latency of a larger fan-out constrains the maximum rate of gdfloor "
            "and eventually lowers its allocation.",
            measured=f"gdfloor {rates[0]:.0f}, then {rates[1]:.0f}, at the end {rates[2]:.0f} "
            f"msg/s; its latency then allows {bound:.0f}",
            holds=rates[2] < 0.7 * rates[1] and abs(rates[2] - bound) < 0.01 * bound,
        ),
        Statement(
            key="again",
            paper="As the rate of gdfloor decreases there is sufficient capacity to again admit "
            "bronze consumers.",
            measured=f"{_bronze(end)} bronze at the end, at {end.result.rates[TICKER]:.0f} msg/s",
            holds=_bronze(end) > 0.5 * _bronze(before),
        ),
        Statement(
            key="oscillation",
            paper="The bronze population oscillates throughout the experiment (the authors are "
            "working on it).",
            measured=f"between {min(settled)} and {max(settled)} bronze in the last "
            f"{trace.seconds[-1].second + 1 - INCREASE_AT_S - 600} s",
            holds=max(settled) - min(settled) > 5,
        ),
    ]
