"""docs/srtm.md: the paper's statements beside what was measured, written by the command."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.srtm.experiments import REPETITIONS
from benchmarks.srtm.shift import wait
from benchmarks.srtm.table_1 import (
    ROUNDS_OF_THE_PAPER,
    SECONDS_OF_THE_PAPER,
    SEEDS,
    WRONG,
    totals,
)
from benchmarks.srtm.testbed import LEAST_SECONDS, MEASURED, MEASURED_ON, SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.srtm.experiments import Figure
    from benchmarks.srtm.shift import Shifted
    from benchmarks.srtm.table_1 import Searched
    from benchmarks.statements import Statement

HEAD = f"""\
# The SRTM experiments

Written by `make experiments` (`python -m benchmarks.srtm`); do not edit. After C. Li, J. Liu,
C. Lu, R. Guerin, C. D. Gill, *Impact of Distributed Rate Limiting on Load Distribution in a
Latency-sensitive Messaging Service* (SRTM), CLOUD 2021, section 6.

The paper measured NSQ brokers on a testbed. Here brokers are **simulated**, in virtual time
(`weir/queueing/simulated_broker.py`): a token bucket, and behind it one server that takes messages
one by one. What decides is the product's own: distributor (`weir.placement`), profiler
(`weir.placement.profiling`) and adaptor (`weir.placement.adaptation`). The same command gives the
same numbers. [At the end](#on-real-brokers) the same question is put to real ones.

- A point is the median of {REPETITIONS} repetitions; bars reach from the least to the largest, and
  numbers at the points are brokers (but in figure 6). Publishers send 10 messages a second, and
  99 % of the messages are to take 1 ms at most, as in the paper.
- LB takes all six brokers. Conc, Max-Min and SRTM are measured from one broker on, one more as long
  as a broker misses the objective; where no number keeps it, the best is shown, as in the paper.
  All publishers are dealt out anew each time. The paper lets full brokers keep what they can serve
  (sections 4.2 and 6.5); that search is in [Table 1](#rounds-of-measuring-table-1). The methods
  differ in whom they put where, and in nothing else.
- **Weir** is the product's profiler, which fits speeds to what it measures; it alone is given the
  recorded bucket ([ADR 45](adr/0045-how-bursty-a-topic-is-is-recorded-as-one-number.md)).
- The paper's figures are curves, and the text that we have is without its pictures: no value could
  be digitised. What it says of them in words and numbers, and Table 1, stand beside ours.
- "Holds?" is computed of the medians, and `tests/weir/placement/test_srtm.py` asserts it.

## What the paper does not say, and what was taken

"""

TAKEN = (
    (
        "messages that a broker processes, sent one by one",
        "60,000 a second",
        "6,000 publishers overload one broker (figure 6b), so it is no more; the largest that "
        "makes this so was taken. That they do is therefore no result here",
    ),
    (
        "the same, sent ten at a time",
        "100,000 a second",
        "brokers carry up to 80,000 a second of other topics in batches of 10 (figure 8), and one "
        "more: it is more than that, and this is the round number above. The paper names the "
        "cause: a publisher's goroutine wakes up once for a batch",
    ),
    (
        "what the operator says that a broker takes",
        "100,000 a second",
        "the paper's capacities come from a benchmark of which it gives no number. Of single "
        "messages it is 67 % too much, which measuring has to find out",
    ),
    (
        "bucket",
        "a tenth more than the smallest of a recording",
        "the paper takes the smallest with which 99 % of a recording find a token, and speaks of "
        '"some margin" (footnote 2). Without any it is chance whether 1 % of a round of measuring '
        "wait. It lowers every penalty of an equal split from (k - 1) b0 / r to (k - 1.1) b0 / r",
    ),
    (
        "recording",
        f"{SHOWN * MEASURED:,} messages, {SHOWN * LEAST_SECONDS:.0f} s at least, replayed",
        "every placement is shown with the messages that the bucket was set by, publisher by "
        "publisher, so that nobody waits for tokens at one broker. A round of measuring takes the "
        f"first tenth of them ({MEASURED:,} are the paper's minute at 10,000 a second), Weir's up "
        f"to {MEASURED_ON} tenths where a miss may be chance",
    ),
    ("publishers of figures 7 and 8", "1,000 to 6,000; 2,000 to 10,000", "no axis in the text"),
)


def statements_table(entries: Iterable[Statement]) -> str:
    """Return the table of a figure's statements."""
    lines = ["| the paper says | measured here | holds? |", "|---|---|---|"]
    lines += [
        f"| {entry.paper} | {entry.measured} | {'yes' if entry.holds else '**no**'} |"
        for entry in entries
    ]
    return "\n".join(lines) + "\n"


def _figure(figure: Figure, picture: str) -> list[str]:
    parts = [
        f"## {figure.title}\n",
        f"![{figure.title}]({picture})\n",
        statements_table(figure.statements),
    ]
    return [*parts, figure.remark + "\n"] if figure.remark else parts


def _table_1(rows: Sequence[Searched], entries: Iterable[Statement]) -> list[str]:
    def several(values: Sequence[float]) -> str:
        return ", ".join(f"{value:g}" for value in values)

    lines = [
        "| publishers of a group | the paper, by number of brokers | its search by the model | at "
        "simulated brokers | Weir, rates right | 25 % too high | 25 % too low | brokers |",
        "|---:|---|---:|---|---|---|---|---|",
    ]
    for row in rows:
        paper = ROUNDS_OF_THE_PAPER[row.group]
        whole = " + ".join(map(str, paper)) + (f" = {sum(paper)}" if len(paper) > 1 else "")
        own = " | ".join(several(row.rounds[each]) for each in WRONG)
        lines.append(
            f"| {row.group} | {whole} | {row.by_model} | {several(row.by_halves)} | {own} "
            f"| {several(row.brokers)} |"
        )
    paper_total = sum(map(sum, ROUNDS_OF_THE_PAPER.values()))
    halves = several([sum(row.by_halves[at] for row in rows) for at in range(len(SEEDS))])
    own = " | ".join(several(totals(rows, each)) for each in WRONG)
    lines.append(
        f"| all six | {paper_total} | {sum(row.by_model for row in rows)} | {halves} | {own} | |"
    )
    minutes = fmean(
        sum(row.minutes[each][at] for row in rows) for each in WRONG for at in range(len(SEEDS))
    )
    return [
        "## Rounds of measuring (Table 1)\n",
        "1,000 publishers in batches of 10, groups that send at the same moment, six empty "
        "brokers; messages are drawn anew for each measurement. Columns of several numbers: as "
        "many repetitions.\n",
        "\n".join(lines) + "\n",
        statements_table(entries),
        f"Weir measures for {minutes:.0f} minutes for all six topics on average: a round of a "
        "minute that leaves open whether a miss is chance goes on for up to eight. The paper's "
        f"took {sum(SECONDS_OF_THE_PAPER.values()) / 60:.0f} minutes. Larger groups do not always "
        "search for longer: it is chance which half of a search a broker ends in. What 60 such "
        "runs and other speeds gave stands in "
        "[placement](algorithms/placement.md#table-1-of-the-paper).\n",
    ]


def _shift(rows: Sequence[Shifted], entries: Iterable[Statement]) -> list[str]:
    lines = [
        "| parts | before | ten seconds after the shift | the next fifty | from then on | changes "
        "|",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.rule} | {wait(row.before_s)} | {wait(row.at_once_s)} | {wait(row.soon_s)} "
        f"| {wait(row.settled_s)} | {row.decisions} |"
        for row in rows
    ]
    return [
        "## Traffic that moves (section 5.4)\n",
        "The paper describes its TB Adaptor and shows no figure of it. Here the 60,000 messages a "
        "second of figure 6 go to two brokers by halves, and from one moment on by one and four "
        "fifths; 99th percentiles of the wait for tokens. Both rules look at ten seconds of "
        "history and decide each second.\n",
        "\n".join(lines) + "\n",
        statements_table(entries),
        "Rates in proportion to what came follow with the delay of their window, and what waits "
        "since the shift is worked off with the tenth more tokens that flow in. Weir sees the "
        "shift in its window, and gives a broker with a backlog more for a while "
        "([adaptation](algorithms/adaptation.md)).\n",
    ]


def _fleet(measured: Mapping[str, Any]) -> list[str]:
    topic = measured["topic"]
    lines = [
        "| run | method | brokers | predicted | measured | exact buckets, same moments | of all "
        "messages beyond 100 ms, exact |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(measured["rows"], key=lambda row: (row["run"], row["method"])):
        lines.append(
            f"| {row['run']} | `{row['method']}` | {row['brokers']} "
            f"| {1e3 * row['predicted_p99_s']:.0f} ms | {1e3 * row['p99_s']:.0f} ms "
            f"| {1e3 * row['computed_p99_s']:.0f} ms | {100 * row['computed_waited_share']:.1f} % |"
        )
    messages = min(row["messages"] for row in measured["rows"])
    seconds = min(row["seconds"] for row in measured["rows"])
    return [
        "## On real brokers\n",
        f"`python -m benchmarks.srtm.fleet`, {measured['measured_on']}: six NATS servers with "
        f"Weir's agents on one machine of {measured['processors']} processors. {topic['groups']} "
        f"groups of {topic['publishers_per_group']} publishers send together at random moments, "
        f"{topic['rate_per_s']:.0f} messages a second in all; {topic['token_rate_per_s']:.0f} "
        f"tokens flow in, and the bucket of {topic['token_bucket']:.1f} is the smallest with which "
        "99 % find one at one broker. A broker is said to take "
        f"{topic['publish_rate_max_per_s']:.0f} a second, so that the topic needs three. Each run "
        "places the topic by one method over REST, makes the plan, approves it and carries it out; "
        f"then publishers send for {seconds:.0f} s, {messages:,} messages at least. All methods of "
        "a run get the same moments. 99th percentiles of the wait for tokens at the slowest "
        "broker:\n",
        "\n".join(lines) + "\n",
        "*Measured* is what the agents report; *exact buckets* is what token buckets of the same "
        "parts make of the same moments without a broker, so that the two tell how well the gates "
        "keep time. Predictions are what a long run would show. In so short a one a percentile is "
        "that of a few bursts close to each other: no measured one has an upper bound, and where a "
        "prediction is near 0 a single backlog decides.\n",
    ]


def markdown(
    figures: Sequence[Figure],
    pictures: Mapping[str, str],
    searched: Sequence[Searched],
    of_searched: Sequence[Statement],
    shifts: Sequence[Shifted],
    of_shifts: Sequence[Statement],
    fleet: Mapping[str, Any],
) -> str:
    """Return the whole page; `pictures` are addresses relative to it."""
    taken = ["| | taken | why |", "|---|---|---|"]
    taken += [f"| {what} | {value} | {why} |" for what, value, why in TAKEN]
    parts = ["\n".join(taken) + "\n"]
    for figure in figures:
        parts += _figure(figure, pictures[figure.name])
    parts += _table_1(searched, of_searched)
    parts += _shift(shifts, of_shifts)
    parts += _fleet(fleet)
    return HEAD + "\n".join(parts)
