"""The slides' effect of the number of groups and streams, and of having two layers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.plain_clustering import cost_of
from benchmarks.statements import Statement
from benchmarks.tock.algorithms import FLAT, GF, WEIR
from benchmarks.tock.settings import DEAR_TRANSPORT, load, mapped, sized, span
from weir.clustering import flat, groups_first, joint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.tock.settings import Effort

SHOWN_RATIO = 0.25
"""The one of the picture, where Weir's own method is run, too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layers:
    """Mean costs over seeds by method, streams, groups and ratio; flat has as many streams as
    groups."""

    ratios: tuple[float, ...]
    costs: Mapping[tuple[str, int, int, float], float]

    def steps(self, method: str, ratio: float, *, of_streams: bool) -> Iterator[float]:
        """Yield what each larger number of streams, or of groups, leaves of the cost."""
        grid = [key for key in self.costs if key[0] == method and key[3] == ratio]
        fixed = 2 if of_streams else 1
        for value in sorted({key[fixed] for key in grid}):
            # Keys of a line differ in what varies alone.
            line = sorted(key for key in grid if key[fixed] == value)
            for fewer, more in pairwise(line):
                yield self.costs[more] / self.costs[fewer]

    def hierarchical(self, ratio: float) -> list[float]:
        """Return the cost of groups first in that of flat, with more streams than groups."""
        return [
            self.costs[key] / self.costs[FLAT, key[2], key[2], ratio]
            for key in self.costs
            if key[0] == GF and key[3] == ratio and key[1] > key[2]
        ]


def layers(effort: Effort) -> Layers:
    """Return costs over the grid of streams and groups on the default load."""
    ratios = (*effort.ratios, DEAR_TRANSPORT)
    costs: dict[tuple[str, int, int, float], list[float]] = {}
    for seed in effort.seeds:
        problem = load(effort.base, effort.shapes[0], seed)
        for groups in effort.groups:
            one_layer = mapped(flat, sized(problem, groups, groups), seed)
            for ratio in ratios:
                weighed = sized(problem, groups, groups, ratio)
                costs.setdefault((FLAT, groups, groups, ratio), []).append(
                    cost_of(weighed, one_layer)
                )
            for streams in (each for each in effort.streams if each >= groups):
                both = mapped(groups_first, sized(problem, streams, groups), seed)
                for ratio in ratios:
                    weighed = sized(problem, streams, groups, ratio)
                    costs.setdefault((GF, streams, groups, ratio), []).append(
                        cost_of(weighed, both)
                    )
                if seed == effort.seeds[0]:
                    weighed = sized(problem, streams, groups, SHOWN_RATIO)
                    own = cost_of(weighed, mapped(joint, weighed, seed))
                    costs.setdefault((WEIR, streams, groups, SHOWN_RATIO), []).append(own)
    return Layers(ratios=ratios, costs={key: fmean(each) for key, each in costs.items()})


def statements(measured: Layers) -> list[Statement]:
    """Return what the slides say of the numbers of streams and groups beside ours.

    Where an unwanted message costs the same at both layers, streams save nothing by definition:
    what is said of two layers is judged below that.
    """
    below = [ratio for ratio in measured.ratios if ratio < 1.0]
    entries = []
    for what, of_streams in (("streams", True), ("groups", False)):
        steps = {
            ratio: list(measured.steps(GF, ratio, of_streams=of_streams))
            for ratio in measured.ratios
        }
        own = list(measured.steps(WEIR, SHOWN_RATIO, of_streams=of_streams))
        entries.append(
            Statement(
                key=what,
                paper=f"Increasing the number of {what} always improves performance.",
                measured="cost of GF after each step up in that before: "
                + "; ".join(f"{ratio:g}: {_less(each)}" for ratio, each in steps.items())
                + f". Weir at {SHOWN_RATIO:g}: {_less(own)}",
                holds=all(one < 1 for ratio in below for one in steps[ratio]),
            )
        )
    shares = {ratio: measured.hierarchical(ratio) for ratio in measured.ratios}
    means = [fmean(each) for each in shares.values()]
    return [
        *entries,
        Statement(
            key="hierarchical",
            paper="Hierarchical filtering is more efficient than non-hierarchical.",
            measured="GF / flat with as many groups: "
            + "; ".join(f"{ratio:g}: {_less(each)}" for ratio, each in shares.items()),
            holds=all(one < 1 for ratio in below for one in shares[ratio]),
        ),
        Statement(
            key="work",
            paper="Relative effectiveness depends on the amount of work in each filtering layer. "
            "Advantage for efficient filtering at transport layer.",
            measured="GF / flat on average: "
            + "; ".join(
                f"{ratio:g}: {mean:.2f}" for ratio, mean in zip(shares, means, strict=True)
            ),
            holds=means == sorted(means) and means[0] < 1,
        ),
    ]


def _less(values: Sequence[float]) -> str:
    return f"{span(values)}, less in {sum(each < 1 for each in values)} of {len(values)}"
