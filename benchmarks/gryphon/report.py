"""docs/gryphon.md: the paper's statements beside what was measured, written by the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.gryphon.correction import HIDDEN, PAPER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.gryphon.correction import Ratios
    from benchmarks.gryphon.experiments import Outcome
    from benchmarks.statements import Statement

HEAD = """\
# The Gryphon experiments

Written by `make experiments` (`python -m benchmarks.gryphon`); do not edit. After S. Bhola,
M. Astley, R. Saccone, M. Ward, *Utility-Aware Resource Allocation in an Event Processing System*,
ICAC 2006, section V.

The paper measured a server. Here its own resource model stands for the server, in a **simulation**
of one step per second: the optimizer every 20 s, rate control (`weir.rate_controller`) every
second, rates snapped back at each cycle. Optimizers, rate control, latency bound and error
correction are the product's own; the certified optimizer runs without its polishing, the search for
the last digits that takes most of its time. The same command gives the same numbers.

"Holds?" is computed, for Weir's default method unless it says otherwise, and
`tests/weir/optimizers/test_gryphon.py` asserts it.

## What the paper does not say, and what was taken
"""

TAKEN = (
    (
        "CPU threshold",
        "70 %",
        "The paper calls it configurable. From figure 9: with A = 0.1347943 for requests and a "
        "best-effort rate R, 900 consumers fill the server beside r_min at C = R (A + 900 B) + "
        "4.49. Then 600 consumers leave 33.3 + 2.30 R msg/s to the requests, 800 leave 33.3 + "
        "0.77 R. Slightly below 203.7 and about half of that hold together for R from 65 to 74, "
        "C from 64 to 73; 70 and 70 is the round pair in it and admits 905",
    ),
    (
        "threshold of figure 7",
        "34.5 %",
        "10 gold consumers (5.24 %), the second reliable flow at its minimum (0.15 %) and "
        "approximately 140 bronze at 200 msg/s (29.17 %) come to 34.56 %. With more, bronze on "
        "gdfloor is admitted once the 140 are served. The trading day needs 42.4 % to admit all "
        "gold consumers, so no one threshold gives both figures",
    ),
    ("consumers of figure 8", "120 per flow", "140 msg/s at 70 %"),
    (
        "utility of figure 8",
        "ln(1 + r) each",
        "strictly concave: with a linear one every split of the same total would be worth the same",
    ),
    (
        "best-effort rate of figure 9",
        "70 msg/s, fixed",
        "see the threshold; were it free, lowering it would admit all 1000",
    ),
    ("bronze consumers of figure 7", "140 per flow", "approximately 140"),
    (
        "latency of a reliable message",
        "4 ms + 40 µs per admitted consumer, measured with a time constant of 120 s",
        "no numbers given; one producer per flow waits for each acknowledgement",
    ),
    ("segments of the trading day", "10 minutes", "no times given"),
    (
        "connecting a consumer",
        "40 a second, 10 % CPU meanwhile",
        'the paper: "server capacity is temporarily degraded"',
    ),
)


def _statements(entries: Iterable[Statement]) -> str:
    lines = ["| the paper says | Weir measures | holds? |", "|---|---|---|"]
    lines += [
        f"| {entry.paper} | {entry.measured} | {'yes' if entry.holds else '**no**'} |"
        for entry in entries
    ]
    return "\n".join(lines) + "\n"


def _methods(outcome: Outcome) -> str:
    lines = [
        "| method | utility, mean over the cycles | of the best | statements that hold |",
        "|---|---:|---:|---:|",
    ]
    best = max(outcome.utility.values())
    for method, utility in outcome.utility.items():
        entries = outcome.statements[method]
        failing = [f"`{entry.key}`" for entry in entries if not entry.holds]
        held = f"{len(entries) - len(failing)} of {len(entries)}"
        held += f" (not {', '.join(failing)})" if failing else ""
        lines.append(f"| {method} | {utility:,.1f} | {100 * utility / best:.3f} % | {held} |")
    return "\n".join(lines) + "\n"


def _correction(ratios: Sequence[Ratios], entries: Iterable[Statement]) -> str:
    lines = [
        "## Error correction (figure 10)\n",
        f"Each experiment once more on a simulated server that costs {HIDDEN:g} times what its "
        "model says, with the product's correction at work (`weir.fitting.correction`). The "
        "hidden factor is put in by hand; what is shown is that it is learnt, and what connecting "
        "consumers, which is in no model, does to the ratio.\n",
        "| test | low | high | average | paper: low | high | average |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for each in ratios:
        paper = " | ".join(f"{value:.2f}" for value in PAPER[each.name])
        own = f"{each.low:.2f} | {each.high:.2f} | {each.average:.2f}"
        lines.append(f"| {each.title} | {own} | {paper} |")
    return "\n".join(lines) + "\n\n" + _statements(entries)


def markdown(
    outcomes: Sequence[Outcome],
    pictures: Mapping[str, str],
    ratios: Sequence[Ratios],
    of_ratios: Sequence[Statement],
) -> str:
    """The whole page; `pictures` are addresses relative to it."""
    taken = ["| | taken | why |", "|---|---|---|"]
    taken += [f"| {what} | {value} | {why} |" for what, value, why in TAKEN]
    parts = [HEAD, "\n".join(taken) + "\n"]
    for outcome in outcomes:
        parts += [
            f"## {outcome.title}\n",
            f"![{outcome.title}]({pictures[outcome.name]})\n",
            _statements(outcome.statements[outcome.judged]),
            _methods(outcome),
            outcome.remark + "\n",
        ]
    parts.append(_correction(ratios, of_ratios))
    return "\n".join(parts)
