"""Figure 9: consumers are admitted at the price of a request-response flow's latency.

One best-effort flow with a gold class and one request-response flow with 20 requesters. 200 gold
consumers, 200 more every 10 minutes. The paper does not give the rate of the best-effort flow; it
is fixed here (see docs/gryphon.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.gryphon.model import (
    BEST_EFFORT,
    CPU_PERCENT,
    REQUEST_RESPONSE,
    ClassSpec,
    FlowSpec,
    linear,
)
from benchmarks.gryphon.simulation import OPTIMIZE_EVERY_S, Moment
from benchmarks.statements import Statement
from weir.utility import utility_from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.gryphon.simulation import Trace

NAME = "latency"
TITLE = "Latency trade-off (figure 9)"

EVENTS, REQUESTS = "events", "requests"
EVENT_RATE = 70.0
STEP, STEPS, STEP_S = 200, 5, 600
MAX_UTILITY, THRESHOLD_S, SENDERS, THINK_S, EXEC_S = 6000.0, 0.5, 20, 0.1, 0.008
UTILITY: dict[str, Any] = {
    "kind": "latency",
    "max_utility": MAX_UTILITY,
    "threshold_s": THRESHOLD_S,
    "senders": SENDERS,
    "think_s": THINK_S,
    "exec_s": EXEC_S,
}
R_MIN = SENDERS / (THINK_S + THRESHOLD_S)
R_MAX = 1.1 * SENDERS / (THINK_S + EXEC_S)


class LatencyTradeOff:
    """The scenario."""

    cpu = CPU_PERCENT
    seconds = STEP_S * STEPS

    def moment(self, second: int) -> Moment:
        return Moment(
            flows=(
                FlowSpec(id=EVENTS, kind=BEST_EFFORT, rate_min=EVENT_RATE, rate_max=EVENT_RATE),
                FlowSpec(id=REQUESTS, kind=REQUEST_RESPONSE, rate_min=R_MIN, rate_max=R_MAX),
            ),
            classes=(
                ClassSpec(
                    id=f"{EVENTS}.gold",
                    flow=EVENTS,
                    population=STEP * (1 + second // STEP_S),
                    utility=linear(100.0),
                ),
                ClassSpec(id=f"{REQUESTS}.sender", flow=REQUESTS, population=1, utility=UTILITY),
            ),
        )

    def observe(
        self, second: int, rates: Mapping[str, float], populations: Mapping[str, int]
    ) -> None:
        """Nothing of this experiment depends on what was measured."""


def round_trip_s(rate: float) -> float:
    """Predicted by the queueing model at an allocated rate: U = C (1 - T / D) solved for T."""
    worth = float(utility_from_dict(UTILITY).value(min(rate, R_MAX)))
    return THRESHOLD_S * (1.0 - worth / MAX_UTILITY)


def statements(trace: Trace) -> list[Statement]:
    """What section V.C says of figure 9."""
    steps = [trace.at(k * STEP_S + OPTIMIZE_EVERY_S).result for k in range(STEPS)]
    rate = {STEP * (k + 1): result.rates[REQUESTS] for k, result in enumerate(steps)}
    wait = {count: 1e3 * round_trip_s(r) for count, r in rate.items()}
    gold = [result.populations[f"{EVENTS}.gold"] for result in steps]
    return [
        Statement(
            key="range",
            paper="The rate range is r_min = 33.33 and r_max = 203.70.",
            measured=f"{R_MIN:.2f} and {R_MAX:.2f} msg/s",
            holds=round(R_MIN, 2) == 33.33 and round(R_MAX, 2) == 203.70,
        ),
        Statement(
            key="first-400",
            paper="The first 400 consumers have little effect on latency; the request-response "
            "rate remains near 200 msg/s.",
            measured=f"{rate[200]:.1f} and {rate[400]:.1f} msg/s, round trip {wait[200]:.1f} and "
            f"{wait[400]:.1f} ms",
            holds=rate[400] > 195 and wait[400] < 1.1 * wait[200],
        ),
        Statement(
            key="600",
            paper="At 600 consumers latency is marginally increased and the rate is slightly "
            "reduced.",
            measured=f"{rate[600]:.1f} msg/s, {wait[600]:.1f} ms",
            holds=0.9 * rate[400] < rate[600] < rate[400] and wait[400] < wait[600] < 20,
        ),
        Statement(
            key="800",
            paper="At 800 consumers latency is significantly increased and the rate is halved.",
            measured=f"{rate[800]:.1f} msg/s, {rate[800] / rate[600]:.2f} of the rate at 600; "
            f"{wait[800]:.0f} ms",
            holds=0.4 < rate[800] / rate[600] < 0.6 and wait[800] > 3 * wait[600],
        ),
        Statement(
            key="1000",
            paper="At 1000 consumers at most approximately 900 are admitted.",
            measured=f"{gold[-1]} of 1000 admitted; before, all: "
            + ", ".join(str(count) for count in gold[:-1]),
            holds=abs(gold[-1] - 900) <= 27 and gold[:-1] == [200, 400, 600, 800],
        ),
        Statement(
            key="r-min",
            paper="The latency threshold takes effect and the request-response rate is at r_min.",
            measured=f"{rate[1000]:.2f} msg/s",
            holds=rate[1000] - R_MIN < 0.6,
        ),
    ]
