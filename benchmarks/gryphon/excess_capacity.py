"""Figure 8: a producer sends less than it may, and rate control gives the rest away.

Four flows with one class each, equal in everything, each allocated about 140 of its 200 msg/s.
Flow 0 sends 50 msg/s from minute 6 to minute 12, as it may again until minute 15, and 50 from
then on, with its maximum lowered to 50: both ways in which the paper says the sawtooth ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.gryphon.model import BEST_EFFORT, CPU_PERCENT, ClassSpec, FlowSpec
from benchmarks.gryphon.simulation import OPTIMIZE_EVERY_S, Moment
from benchmarks.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.gryphon.simulation import Trace

NAME = "excess-capacity"
TITLE = "Excess capacity (figure 8)"

FLOWS = ("flow0", "flow1", "flow2", "flow3")
CONSUMERS = 120
"""Per flow: at 70 % CPU this allocates the paper's 140 msg/s."""

UTILITY = {"kind": "log", "weight": 1.0}
"""Not given either. Strictly concave, so that equal flows have one best split: equal rates."""

SLOW_RATE = 50.0
DROPS_AT_S, RESUMES_AT_S, LOWERED_AT_S = 360, 720, 900


class ExcessCapacity:
    """The scenario."""

    cpu = CPU_PERCENT
    seconds = 1080

    def moment(self, second: int) -> Moment:
        lowered = second >= LOWERED_AT_S
        slow = DROPS_AT_S <= second < RESUMES_AT_S or lowered
        return Moment(
            flows=tuple(
                FlowSpec(
                    id=flow,
                    kind=BEST_EFFORT,
                    rate_max=SLOW_RATE if lowered and flow == FLOWS[0] else 200.0,
                )
                for flow in FLOWS
            ),
            classes=tuple(
                ClassSpec(id=f"{flow}.all", flow=flow, population=CONSUMERS, utility=UTILITY)
                for flow in FLOWS
            ),
            offered={FLOWS[0]: SLOW_RATE} if slow else {},
        )

    def observe(
        self, second: int, rates: Mapping[str, float], populations: Mapping[str, int]
    ) -> None:
        """Nothing of this experiment depends on what was measured."""


def _rates(trace: Trace, flow: str, start: int, end: int) -> list[float]:
    return [entry.sent[flow] for entry in trace.seconds[start:end]]


def statements(trace: Trace) -> list[Statement]:
    """What section V.B says of figure 8."""
    others = FLOWS[1:]
    allocated = [trace.at(0).result.rates[flow] for flow in FLOWS]
    cpu = [entry.cpu for entry in trace.seconds]
    dip = min(cpu[DROPS_AT_S : DROPS_AT_S + 3])
    # the first seconds of the first cycle raise the others, all others see whole cycles
    begin = DROPS_AT_S + OPTIMIZE_EVERY_S
    saw = {flow: _rates(trace, flow, begin, RESUMES_AT_S) for flow in others}
    apart = max(
        max(entry.sent[f] for f in others) - min(entry.sent[f] for f in others)
        for entry in trace.seconds[DROPS_AT_S:RESUMES_AT_S]
    )
    snaps = [
        entry.second
        for before, entry in zip(trace.seconds, trace.seconds[1:], strict=False)
        if begin <= entry.second < RESUMES_AT_S and entry.sent["flow1"] < before.sent["flow1"] - 10
    ]
    cycles = range(begin, RESUMES_AT_S, OPTIMIZE_EVERY_S)
    resumed = _rates(trace, "flow1", RESUMES_AT_S + 2 * OPTIMIZE_EVERY_S, LOWERED_AT_S)
    lowered = _rates(trace, "flow1", LOWERED_AT_S + 2 * OPTIMIZE_EVERY_S, len(trace.seconds))
    slow = _rates(trace, FLOWS[0], DROPS_AT_S, RESUMES_AT_S)
    peak, valley = max(saw["flow1"]), min(saw["flow1"])
    return [
        Statement(
            key="allocated",
            paper="All flows would send 200 msg/s but are allocated 140 due to resource limits.",
            measured="allocated " + ", ".join(f"{rate:.1f}" for rate in allocated) + " msg/s",
            holds=all(abs(rate - 140) <= 2 for rate in allocated),
        ),
        Statement(
            key="dip",
            paper="When flow 0 falls to 50 msg/s, rate control observes a dip in CPU utilization.",
            measured=f"CPU falls from {cpu[DROPS_AT_S - 1]:.1f} % to {dip:.1f} %",
            holds=dip < 0.9 * cpu[DROPS_AT_S - 1],
        ),
        Statement(
            key="rise",
            paper="Only flows 1 to 3 are capable of using the capacity, and their rates rise.",
            measured=f"flow 0 stays at {max(slow):.0f}; flow 1 reaches {peak:.1f} msg/s",
            holds=max(slow) <= SLOW_RATE and peak > 160,
        ),
        Statement(
            key="equally",
            paper="The excess is allocated equally among flows of identical utility.",
            measured=f"flows 1 to 3 are at most {apart:.2g} msg/s apart",
            holds=apart < 0.01 * peak,
        ),
        Statement(
            key="sawtooth",
            paper="The increased rates oscillate because rates snap back at each optimizer cycle.",
            measured=f"{len(snaps)} falls in {len(cycles)} cycles of 20 s, from {peak:.1f} to "
            f"{valley:.1f} msg/s",
            holds=set(cycles) <= set(snaps),
        ),
        Statement(
            key="ends",
            paper="This continues until flow 0 resumes its rate, or its maximum rate is lowered.",
            measured=f"resumed: flow 1 between {min(resumed):.1f} and {max(resumed):.1f} msg/s; "
            f"maximum lowered: between {min(lowered):.1f} and {max(lowered):.1f}",
            holds=max(resumed) - min(resumed) < 10
            and max(lowered) - min(lowered) < 12
            and min(lowered) > max(resumed),
        ),
    ]
