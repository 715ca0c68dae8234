"""One picture per experiment: a column per method, drawn from the simulated seconds."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.gryphon import excess_capacity, gold_increase, latency, trading_day
from benchmarks.gryphon.simulation import OPTIMIZE_EVERY_S
from benchmarks.style import (
    SERIES,
    TEXT_2,
    TEXT_3,
    TIERS,
    WAITING,
    legend,
    save,
    sheet,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.gryphon.simulation import Trace


def _minutes(trace: Trace) -> list[float]:
    return [entry.second / 60 for entry in trace.seconds]


def _cycles(trace: Trace, values: list[float]) -> list[tuple[float, float, float, float]]:
    """Per cycle of the optimizer: minute of its start, least, mean and largest value."""
    step = OPTIMIZE_EVERY_S
    return [
        (trace.seconds[at].second / 60, min(part), fmean(part), max(part))
        for at in range(0, len(values), step)
        if (part := values[at : at + step])
    ]


def draw_trading_day(traces: Mapping[str, Trace], path: Path) -> None:
    """Figure 6: admitted consumers, stacked, and the mean rate of the flows."""
    figure, axes = sheet(list(traces), 2)
    for column, trace in enumerate(traces.values()):
        minutes = _minutes(trace)
        top, bottom = axes[0][column], axes[1][column]
        tiers = list(trading_day.TOTAL)
        stack = [
            [trading_day.admitted(entry.populations, tier) for entry in trace.seconds]
            for tier in tiers
        ]
        top.stackplot(minutes, stack, colors=[TIERS[t] for t in tiers], labels=tiers, lw=0)
        rates = [trading_day.mean_rate(entry.sent) for entry in trace.seconds]
        bottom.plot(minutes, rates, color=SERIES[0])
        for k, (name, _) in enumerate(trading_day.SEGMENTS):
            start = k * trading_day.SEGMENT_S / 60
            for each in (top, bottom):
                each.axvline(start, color=TEXT_3, lw=0.6, ls=":")
            bottom.text(start + 0.6, 6, name, rotation=90, color=TEXT_2, size=7, va="bottom")
        bottom.set_ylim(0, 225)
        bottom.margins(x=0)
    axes[0][0].set_ylabel("admitted consumers")
    axes[1][0].set_ylabel("mean rate, msg/s")
    legend(figure, axes[0][0])
    save(figure, path)


def draw_gold_increase(traces: Mapping[str, Trace], path: Path) -> None:
    """Figure 7: populations, and rates beside what the latency of gdfloor allows."""
    figure, axes = sheet(list(traces), 2)
    shown = (
        (f"{gold_increase.GDFLOOR}.gold", "gold on gdfloor", TIERS["gold"]),
        (f"{gold_increase.TICKER}.bronze", "bronze, best-effort", TIERS["bronze"]),
        (f"{gold_increase.GDFLOOR}.bronze", "bronze on gdfloor", SERIES[2]),
    )
    for column, trace in enumerate(traces.values()):
        minutes = _minutes(trace)
        top, bottom = axes[0][column], axes[1][column]
        for name, label, colour in shown:
            counts = [entry.populations.get(name, 0) for entry in trace.seconds]
            top.plot(minutes, counts, color=colour, label=label)
        bounds = [
            next(f.rate_max for f in trace.at(entry.second).problem.flows if f.id == "gdfloor")
            for entry in trace.seconds
        ]
        bottom.plot(minutes, bounds, color=TEXT_3, ls="--", lw=1, label="gdfloor's latency allows")
        for flow, colour in (
            (gold_increase.TICKER, TIERS["bronze"]),
            (gold_increase.GDFLOOR, TIERS["gold"]),
        ):
            # 120 teeth of a saw would be a solid block: the range and the mean of each cycle.
            cycles = _cycles(trace, [entry.sent[flow] for entry in trace.seconds])
            start, low, mean, high = zip(*cycles, strict=True)
            bottom.fill_between(start, low, high, color=colour, alpha=0.25, lw=0, step="post")
            bottom.plot(start, mean, color=colour, drawstyle="steps-post", label=flow)
        bottom.set_ylim(0, 225)
        bottom.margins(x=0)
    axes[0][0].set_ylabel("admitted consumers")
    axes[1][0].set_ylabel("rate, msg/s")
    legend(figure, axes[0][0])
    explained = ("line: mean of each cycle; band: its range", "dashed: gdfloor's latency bound")
    for column, words in zip(axes[1], explained, strict=False):
        column.annotate(words, (0.5, 212), color=TEXT_3, size=7)
    save(figure, path)


def draw_excess_capacity(traces: Mapping[str, Trace], path: Path) -> None:
    """Figure 8: rates of the four flows."""
    figure, axes = sheet(list(traces), 2, ratios=(2, 1))
    for column, trace in enumerate(traces.values()):
        minutes = _minutes(trace)
        top, bottom = axes[0][column], axes[1][column]
        # Flows 1 to 3 lie on each other: wide, then dashed, then dotted lets all three be seen.
        for flow, colour, style in zip(
            excess_capacity.FLOWS, SERIES, ("-", "-", "--", ":"), strict=False
        ):
            rates = [entry.sent[flow] for entry in trace.seconds]
            label = f"flow {flow[-1]}"
            top.plot(minutes, rates, color=colour, ls=style, lw=1.1, label=label)
        bottom.plot(minutes, [entry.cpu for entry in trace.seconds], color=SERIES[0], lw=1)
        threshold = excess_capacity.ExcessCapacity.cpu
        bottom.axhline(threshold, color="#12201F", lw=1.2)
        bottom.text(0.3, threshold + 4, f"threshold {threshold:.0f} %", color=TEXT_2, size=7)
        for second, words in (
            (excess_capacity.DROPS_AT_S, "drops to 50"),
            (excess_capacity.RESUMES_AT_S, "resumes"),
            (excess_capacity.LOWERED_AT_S, "maximum 50"),
        ):
            top.axvline(second / 60, color=TEXT_3, lw=0.6, ls=":")
            top.text(second / 60 + 0.1, 58, words, rotation=90, color=TEXT_2, size=7, va="bottom")
        top.set_ylim(0, 225)
        bottom.set_ylim(0, 100)
        bottom.margins(x=0)
    axes[0][0].set_ylabel("rate, msg/s")
    axes[1][0].set_ylabel("CPU, %")
    legend(figure, axes[0][0])
    save(figure, path)


def draw_latency(traces: Mapping[str, Trace], path: Path) -> None:
    """Figure 9: consumers admitted of those there, the request-response rate, its round trip."""
    figure, axes = sheet(list(traces), 3, ratios=(1.2, 1, 1))
    for column, trace in enumerate(traces.values()):
        minutes = _minutes(trace)
        top, middle, bottom = (axes[row][column] for row in range(3))
        there = [latency.STEP * (1 + entry.second // latency.STEP_S) for entry in trace.seconds]
        gold = [entry.populations[f"{latency.EVENTS}.gold"] for entry in trace.seconds]
        top.fill_between(minutes, there, color=WAITING, lw=0, label="waiting")
        top.fill_between(minutes, gold, color=TIERS["gold"], lw=0, label="gold admitted")
        requests = [
            trace.at(entry.second).result.rates[latency.REQUESTS] for entry in trace.seconds
        ]
        middle.plot(minutes, requests, color=SERIES[0])
        middle.axhline(latency.R_MIN, color="#12201F", lw=1.2)
        middle.text(0.3, latency.R_MIN + 5, "r_min 33.33", color=TEXT_2, size=7)
        bottom.plot(
            minutes, [1e3 * latency.round_trip_s(rate) for rate in requests], color=SERIES[2]
        )
        bottom.set_yscale("log")
        bottom.axhline(1e3 * latency.THRESHOLD_S, color="#12201F", lw=1.2)
        bottom.text(0.3, 540, "threshold 500 ms", color=TEXT_2, size=7)
        top.set_ylim(0, 1050)
        middle.set_ylim(0, 225)
        bottom.set_ylim(5, 1000)
        bottom.margins(x=0)
    axes[0][0].set_ylabel("consumers")
    axes[1][0].set_ylabel("requests, msg/s")
    axes[2][0].set_ylabel("round trip, ms (log)")
    legend(figure, axes[0][0])
    save(figure, path)
