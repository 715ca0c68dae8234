"""docs/clustering.md: what the slides say beside what was measured, written by the command."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from benchmarks.mapping import weights_of
from benchmarks.tock.algorithms import FLAT, GF, IT, LEAST, MOST, RRA, SF, WEIR, together
from benchmarks.tock.day import (
    AVERAGE,
    FIRST,
    GF_AGAIN,
    MOVE_COSTS,
    mean_costs,
)
from benchmarks.tock.pictures import WAYS
from benchmarks.tock.settings import DEAR_TRANSPORT, USUAL, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.statements import Statement
    from benchmarks.tock.algorithms import Case
    from benchmarks.tock.day import Hour
    from benchmarks.tock.settings import Effort

HEAD = """\
# The clustering experiments

Written by `make experiments` (`python -m benchmarks.tock`); do not edit. After Y. Tock, N. Naaman,
A. Harpaz, G. Gershinsky, *Adaptive Hierarchical Clustering of Message Flows in a Multicast Data
Dissemination System* (slides).

The slides show curves, and the text that we have is without its pictures: no value could be
digitised. What they say in words and numbers stands beside ours. They give neither the numbers of
streams and groups nor the weights of the layers, so a statement is judged over **all settings**
that its row names, and the range over them is printed. It *agrees* where it holds in all of them,
*differs* where it fails in one; in how many it holds stands beside it. Two kinds are judged
otherwise: statements on **time** by medians, without flat maps; those on **layers** on the default
load alone, as means of the seeds, for shares below 1. Costs are those of
[mapping](algorithms/mapping.md#what-a-map-costs), methods the product's own (`weir/clustering/`):
**GF** groups first, **SF** streams first, **IT** iterative, **RRA** random restart with annealing,
**flat** one stream in each group, **Weir** the default method `joint`. *Random* is the expected
cost where each wanted topic goes to any stream with the same chance.

**Share** stands for transport / (messaging x aggregation): what it costs to drop an unwanted
message with its packet, by its stream, in parts of what it costs to drop it above the transport.
The same command gives the same numbers, but for times: CPU seconds of one process, while other work
ran on the machine. `tests/weir/clustering/test_tock.py` asserts the verdicts, but for those on time
(`make thorough`).

## What the slides do not say, and what was taken

"""


def _taken(effort: Effort) -> str:
    sizes = ", ".join(f"{streams}/{groups}" for streams, groups in effort.sizes)
    rows = (
        (
            "streams / groups",
            sizes,
            "many more topics than streams, at least as many streams as groups",
        ),
        (
            "share",
            ", ".join(f"{ratio:g}" for ratio in effort.ratios)
            + f"; {DEAR_TRANSPORT:g} beside flat maps",
            "the slides estimate costs of both layers and do not print them. At 1 a message costs "
            "the same at both and streams are of no use; the slides speak of *efficient filtering "
            f"at transport layer*. Packets hold {weights_of(1.0).aggregation:g} messages, which "
            "matters in this share alone",
        ),
        (
            "market load",
            "; ".join(effort.shapes),
            "number of markets, markets that a user follows, how far popular topics are the busy "
            "ones. *Defaults*: 8 markets, 3 of a user, in between. The last reads the fan-out of "
            "10.1 as one over topics that nobody wants, too",
        ),
        (
            "how fast popularity falls",
            "so that the fan-out is the slides'",
            "the one parameter that is fitted to a number of theirs",
        ),
        ("seeds", f"{len(effort.seeds)}", "a load and its random maps"),
        (
            "IT, RRA, Weir",
            "all sizes and shares on the default load with "
            + (
                "one seed"
                if len(effort.searched_seeds) == 1
                else f"{len(effort.searched_seeds)} seeds"
            )
            + "; sizes "
            + ", ".join(f"{streams}/{groups}" for streams, groups in effort.searched)
            + " and shares "
            + ", ".join(f"{ratio:g}" for ratio in effort.searched_ratios)
            + " on the others",
            "they take several times as long as GF. Their parameters are the product's defaults "
            "(10 rounds of IT at most, 15 of RRA from half of the topics on)",
        ),
    )
    lines = ["| | taken | why |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page."""

    title: str
    statements: Sequence[Statement]
    picture: str = ""
    """Its address relative to the page."""
    before: str = ""
    after: str = ""


def verdict(entry: Statement) -> str:
    """Return the last word on a statement."""
    if entry.holds is None:
        return "cannot be compared"
    return "agrees" if entry.holds else "**differs**"


def statements_table(entries: Iterable[Statement]) -> str:
    """Return statements as a table."""
    lines = ["| the slides say | measured here | verdict |", "|---|---|---|"]
    lines += [f"| {entry.paper} | {entry.measured} | {verdict(entry)} |" for entry in entries]
    return "\n".join(lines) + "\n"


def algorithms_table(rows: Sequence[Case]) -> str:
    """Return GF in random and SF in GF by size and share, with in how many settings all holds."""
    ratios = sorted({row.ratio for row in rows})
    lines = [
        "GF / random; SF / GF; settings in which all of this holds together:\n",
        "| streams/groups | " + " | ".join(f"share {ratio:g}" for ratio in ratios) + " |",
        "|---|" + "---|" * len(ratios),
    ]
    for size in sorted({row.size for row in rows}):
        cells = []
        for ratio in ratios:
            here = [row for row in rows if row.size == size and row.ratio == ratio]
            cells.append(
                f"{span([row.costs[GF] / row.random for row in here])}; "
                f"{span([row.costs[SF] / row.costs[GF] for row in here])}; "
                f"{sum(map(together, here))} of {len(here)}"
            )
        lines.append(f"| {size[0]}/{size[1]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def outside(rows: Sequence[Case]) -> str:
    """Return where GF / random is not what the slides say."""
    parts = []
    for word, out in (
        ("above", lambda share: share > MOST),
        ("below", lambda share: share < LEAST),
    ):
        cases = [row for row in rows if out(round(row.costs[GF] / row.random, 1))]
        if cases:
            counts = Counter(f"{row.streams}/{row.groups}" for row in cases)
            loads = Counter(row.shape for row in cases)
            shape, most = loads.most_common(1)[0]
            sizes = ", ".join(f"{size} ({count})" for size, count in counts.most_common())
            parts.append(
                f"{len(cases)} settings are {word} the slides' range, by streams/groups {sizes}; "
                f"{most} of them are of the load *{shape}*."
            )
    everything = sum(map(together, rows))
    parts.append(
        "GF / random within the range, GF better than SF and than flat, and IT and RRA better than "
        f"GF where they were run, hold together in {everything} of {len(rows)} settings."
    )
    return " ".join(parts) + "\n"


def searches_table(rows: Sequence[Case]) -> str:
    """Return all methods beside GF where all were run, by size."""
    searched = [row for row in rows if IT in row.costs]
    methods = (FLAT, SF, IT, RRA, WEIR)
    lines = [
        "Cost in that of GF, over shares and loads; in brackets the median of CPU time in GF's:\n",
        "| streams/groups | settings | " + " | ".join(methods) + " |",
        "|---|---:|" + "---|" * len(methods),
    ]
    for size in sorted({row.size for row in searched}):
        here = [row for row in searched if row.size == size]
        cells = [
            f"{span([row.costs[name] / row.costs[GF] for row in here])} "
            f"({median(row.seconds[name] / row.seconds[GF] for row in here):.1f})"
            for name in methods
        ]
        lines.append(f"| {size[0]}/{size[1]} | {len(here)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def day_table(rows: Sequence[Hour]) -> str:
    """Return each way's cost over the day, and what it moves at a time."""
    drifts = sorted({row.hourly for row in rows})
    lines = [
        "| map | "
        + " | ".join(f"cost, {each:.0%} an hour | flows moved at a time" for each in drifts)
        + " |",
        "|---|" + "---:|" * (2 * len(drifts)),
    ]
    for name in WAYS:
        cells = []
        for hourly, cost in mean_costs(rows, name).items():
            part = [row.moves[name] for row in rows if row.hourly == hourly and name in row.moves]
            cells += [f"{cost:.3f}", f"{fmean(part):.1%}" if part else ""]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


DAY = (
    "The slides describe the cycle of running, profiling, optimizing and changing, and state no "
    "result. Today is the second of two days of Weir's load (markets that open around the clock, "
    "hot topics, interests that change), mapped every three hours; costs are in that of Weir's "
    f"map made anew. Weir is charged {', '.join(f'{each:g}' for each in MOVE_COSTS)} units of work "
    f"per second for a flow that changes its stream; {GF_AGAIN} is what the slides' sentence "
    "describes, with nothing charged. Topics that come to be wanted go to where they add least. "
    f"The map of {AVERAGE} is Weir's for the mean rates of yesterday and the "
    f"interests of its last hour, that of {FIRST} the one for the rates of that hour, too; both "
    "take in only topics that come to be wanted."
)
NOT_COMPARED = """\
## What has no number to compare with

Migration (open-loop switch of flows and streams) is described without a result; moving a flow under
Weir is a [plan](delivery.md). *Message aggregation increases performance* is part of the share.
*Current & future work* (1,000 times the topics, 10,000 times the users, without IP multicast) is an
outlook; the largest load that Weir was measured with is in
[mapping](algorithms/mapping.md#figures).
"""


def markdown(effort: Effort, sections: Sequence[Section]) -> str:
    """Return the whole page."""
    parts = [_taken(effort)]
    if effort is not USUAL:
        parts.insert(0, "**A quick run** on a small load, whose numbers say nothing.\n")
    entries = [entry for section in sections for entry in section.statements]
    counts = [
        f"{sum(each.holds is holds for each in entries)} {word}"
        for word, holds in (("agree", True), ("differ", False), ("cannot be compared", None))
    ]
    parts.append(
        f"Of {len(entries)} statements, one of which is Weir's own aim, {', '.join(counts)}.\n"
    )
    for section in sections:
        parts.append(f"## {section.title}\n")
        if section.before:
            parts.append(section.before + "\n")
        if section.picture:
            parts.append(f"![{section.title}]({section.picture})\n")
        parts.append(statements_table(section.statements))
        if section.after:
            parts.append(section.after.rstrip("\n") + "\n")
    parts.append(NOT_COMPARED)
    return HEAD + "\n".join(parts)
