"""What the slides say of their experiments holds of Weir's numbers, or is known not to."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.plain_clustering import cost_of
from benchmarks.tock import day, layers
from benchmarks.tock.algorithms import FLAT, GF, IT, RRA, SF, WEIR, together
from benchmarks.tock.experiments import EXPERIMENTS, outcomes, section
from benchmarks.tock.report import markdown, verdict
from benchmarks.tock.settings import QUICK, USUAL, load, mapped, sized
from tests.suites import effort
from weir.clustering import groups_first
from weir.clustering.cost import random_cost
from weir.clustering.loads import wildcard_load

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.tock.algorithms import Case
    from benchmarks.tock.experiments import Outcome

all_settings = pytest.mark.skipif(
    effort(usual=True, thorough=False), reason="ten minutes: make thorough has it"
)

DIFFERENT: dict[str, set[str]] = {
    "cost": set(),
    "load": set(),
    "layers": set(),
    "algorithms": {"of-random", "gf-sf", "iterative-better", "weir"},
    "convergence": set(),
    "scenario": set(),
    "day": set(),
    "wildcards": set(),
}
"""What does not hold in all settings, and docs/clustering.md says why."""

TIMED = {"gf-fastest", "iterative-longer", "fast"}
"""Statements about time, which other work on the machine may turn."""


@pytest.fixture(scope="module")
def quick() -> list[Outcome]:
    return list(outcomes(QUICK))


@pytest.fixture(scope="module")
def quick_cases(quick: list[Outcome]) -> list[Case]:
    rows: list[Case] = measured(quick, "algorithms")
    return rows


def measured(outcomes_of_run: list[Outcome], name: str) -> Any:
    return next(each.measured for each in outcomes_of_run if each.experiment.name == name)


def test_the_page_holds_every_experiment_and_counts_its_verdicts(
    quick: list[Outcome], tmp_path: Path
) -> None:
    sections = []
    for outcome in quick:
        experiment = outcome.experiment
        if experiment.draw is not None:
            picture = tmp_path / f"{experiment.name}.png"
            experiment.draw(outcome.measured, picture)
            assert picture.read_bytes().startswith(b"\x89PNG")
        sections.append(section(outcome, f"{experiment.name}.png" if experiment.draw else ""))
    page = markdown(QUICK, sections)
    entries = [entry for each in sections for entry in each.statements]
    assert len({(each.title, entry.key) for each in sections for entry in each.statements}) == len(
        entries
    )
    differing = sum(verdict(entry) == "**differs**" for entry in entries)
    assert page.count("| **differs** |") == differing
    assert f"Of {len(entries)} statements" in page
    assert f"{differing} differ," in page
    assert "A quick run" in page
    assert "A quick run" not in markdown(USUAL, sections)
    for experiment in EXPERIMENTS:
        assert f"\n## {experiment.title}\n" in page


def test_what_follows_from_the_definition_holds_of_a_small_load(quick: list[Outcome]) -> None:
    holds = {
        (outcome.experiment.name, entry.key): entry.holds
        for outcome in quick
        for entry in outcome.statements
    }
    assert holds["cost", "two-topics"]
    assert holds["cost", "candidate"]
    assert holds["load", "fan-out"]
    assert holds["load", "topics"] is False  # the small load has fewer
    assert holds["layers", "hierarchical"]
    assert holds["layers", "work"]
    assert holds["algorithms", "iterative-better"]
    assert holds["wildcards", "duplication"]
    assert holds["scenario", "scenario"] is None


def test_costs_in_random_are_those_of_the_cost_function(quick_cases: list[Case]) -> None:
    row = next(row for row in quick_cases if IT in row.costs)
    problem = sized(load(QUICK.base, row.shape, row.seed), row.streams, row.groups, row.ratio)
    assert row.costs[GF] == cost_of(problem, mapped(groups_first, problem, row.seed))
    assert row.random == random_cost(problem) < row.random_of_all
    assert set(row.costs) == {FLAT, GF, SF, IT, RRA, WEIR}
    ratio = problem.weights.transport / (problem.weights.messaging * problem.weights.aggregation)
    assert ratio == pytest.approx(row.ratio)


def test_all_holds_together_only_where_each_does(quick_cases: list[Case]) -> None:
    for row in quick_cases:
        each = [
            0.35 <= row.costs[GF] / row.random < 0.65,
            row.costs[GF] < min(row.costs[SF], row.costs[FLAT]),
            all(row.costs[name] < row.costs[GF] for name in (IT, RRA) if name in row.costs),
        ]
        assert together(row) == all(each)


def test_random_that_sends_unwanted_topics_costs_what_drawing_maps_gives(
    quick_cases: list[Case],
) -> None:
    row = next(row for row in quick_cases if row.shape == "defaults" and row.ratio == 1.0)
    problem = sized(load(QUICK.base, row.shape, row.seed), row.streams, row.groups, row.ratio)
    rng = np.random.default_rng(7)
    starts, flows = problem.interests.by_user
    rates, streams = problem.rates_per_s, row.streams
    costs = []
    for _ in range(30):
        stream_of = rng.integers(0, streams, len(rates))
        of_group = np.bincount(stream_of % row.groups, weights=rates, minlength=row.groups)
        cost = 0.0
        for low, high in pairwise(starts.tolist()):
            mine = flows[low:high]
            joined = np.unique(stream_of[mine] % row.groups)
            # At ratio 1 whatever comes with a joined group costs the same at either layer.
            cost += of_group[joined].sum() - rates[mine].sum()
        costs.append(cost)
    assert np.mean(costs) == pytest.approx(row.random_of_all, rel=0.02)


def test_steps_compare_neighbours_of_the_grid() -> None:
    costs = {
        ("GF", streams, groups, 0.5): float(1000 // (streams * groups))
        for streams in (1, 2, 5)
        for groups in (1, 2)
    }
    grid = layers.Layers(ratios=(0.5,), costs=costs)
    assert list(grid.steps("GF", 0.5, of_streams=True)) == [0.5, 0.4, 0.5, 0.4]
    assert list(grid.steps("GF", 0.5, of_streams=False)) == [0.5, 0.5, 0.5]


def test_groups_first_from_a_map_begins_there() -> None:
    problem = sized(load(QUICK.base, "defaults", 1), 100, 20, 0.25)
    former = mapped(groups_first, problem, 1)
    again = day.groups_first_from(problem, former, seed=2)
    assert cost_of(problem, again) <= cost_of(problem, former)
    wanted = problem.interests.audiences > 0
    stays = again.stream_of[wanted] == former.stream_of[wanted]
    assert stays.mean() > 0.9


def test_copies_are_counted_by_subscription(quick: list[Outcome]) -> None:
    row = next(row for row in measured(quick, "wildcards") if row.users == 10)
    problem = wildcard_load(row.seed, 10, 7.0, breadth=row.breadth)
    starts, _ = problem.interests.by_user
    wanted = np.count_nonzero(problem.interests.audiences)
    assert row.unicast == row.by_subscription == 100.0 * starts[-1]
    assert row.mapped == 100.0 * wanted < row.unicast


@all_settings
def test_statements_of_the_slides_hold_or_are_known_to_differ() -> None:
    differing = {
        outcome.experiment.name: {
            entry.key
            for entry in outcome.statements
            if entry.holds is False and entry.key not in TIMED
        }
        for outcome in outcomes(USUAL)
    }
    assert differing == DIFFERENT
