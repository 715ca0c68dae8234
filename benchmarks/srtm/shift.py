"""Section 5.4 of the SRTM paper: traffic moves from one broker to the other.

The paper describes its TB Adaptor and shows no figure of it. Here the heavier topic of figure 6 is
split in two; after a minute three fifths of one half's publishers fall silent and those of the
other half send more, so that the topic as a whole sends what it did. Waits for tokens alone, by
`weir.placement.simulated_adaptation`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.srtm.testbed import MARGIN, TOKENS
from benchmarks.statements import Statement
from weir.placement.handover import Part
from weir.placement.simulated_adaptation import keep_parts, simulate_adaptation, srtm_rule
from weir.queueing.bucket_delay import smallest_free_size
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.simulated_broker import Senders, message_times

RATE_PER_S = 60_000.0
BEFORE, AFTER = (0.5, 0.5), (0.2, 0.8)
"""Shares of the two brokers."""
SHIFT_S, SOON_S, SETTLED_S, END_S = 60.0, 70.0, 120.0, 180.0
RULES = {"static": keep_parts, "the paper's rule": srtm_rule, "Weir's rule": None}
WITHIN = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Shifted:
    """What messages waited under one rule, 99th percentiles in seconds."""

    rule: str
    before_s: float
    at_once_s: float
    """In the ten seconds after the shift."""
    soon_s: float
    """In the fifty seconds after those."""
    settled_s: float
    """From a minute after the shift on."""
    decisions: int


def shifted() -> list[Shifted]:
    """Return a row for each rule, on the same messages."""
    times = {}
    for at, (first, then) in enumerate(zip(BEFORE, AFTER, strict=True)):
        parts = []
        for began, rate, seconds in (
            (0.0, first * RATE_PER_S, SHIFT_S),
            (SHIFT_S, then * RATE_PER_S, END_S - SHIFT_S),
        ):
            senders = Senders(batches=np.array([1]), batches_per_s=np.array([rate]))
            parts.append(began + message_times(senders, seconds, (at, int(began)), "poisson"))
        times[f"b{at + 1}"] = np.concatenate(parts)
    size = MARGIN * smallest_free_size(PoissonWork(1.0 / TOKENS))
    contract = {
        name: Part(rate_per_s=TOKENS * RATE_PER_S * share, size=size * share)
        for name, share in zip(times, BEFORE, strict=True)
    }
    rows = []
    for name, rule in RULES.items():
        seen = simulate_adaptation(times, contract, seconds=END_S, rule=rule)

        def p99_s(start_s: float, end_s: float, seen=seen) -> float:  # type: ignore[no-untyped-def]
            waits = seen.waits_between(start_s, end_s)
            return float(np.quantile(waits, 0.99, method="higher"))

        rows.append(
            Shifted(
                rule=name,
                before_s=p99_s(0.0, SHIFT_S),
                at_once_s=p99_s(SHIFT_S, SOON_S),
                soon_s=p99_s(SOON_S, SETTLED_S),
                settled_s=p99_s(SETTLED_S, END_S - 1.0),
                decisions=len(seen.decisions),
            )
        )
    return rows


def wait(seconds: float) -> str:
    """Return a wait as it is written."""
    return "without bound" if math.isinf(seconds) else f"{1e3 * seconds:,.2f} ms"


def statements(rows: list[Shifted]) -> list[Statement]:
    """Return what section 5.4 says."""
    by_rule = {row.rule: row for row in rows}
    static, paper, weir = (by_rule[name] for name in RULES)
    return [
        Statement(
            key="mismatch",
            paper="The mismatch between traffic and parts that stay can produce significant "
            "penalties.",
            measured=f"{wait(static.before_s)} before, {wait(static.settled_s)} after",
            holds=static.settled_s > WITHIN * static.before_s,
        ),
        Statement(
            key="settles",
            paper="Parts in proportion to mean rates and largest backlogs avoid them.",
            measured=f"{wait(paper.settled_s)} from a minute after the shift on",
            holds=paper.settled_s <= WITHIN * paper.before_s,
        ),
        Statement(
            key="ten-seconds",
            paper="*Weir's own aim:* within half as long again as before after ten seconds.",
            measured=f"{wait(weir.soon_s)} for {wait(weir.before_s)}; by the paper's rule "
            f"{wait(paper.soon_s)}",
            holds=weir.soon_s <= WITHIN * weir.before_s,
        ),
    ]
