"""What the SRTM paper says of its experiments holds of Weir's numbers, or is known not to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.srtm import experiments, shift, table_1
from benchmarks.srtm.__main__ import FLEET
from benchmarks.srtm.report import markdown
from benchmarks.srtm.testbed import MARGIN, MAX_MIN, VirtualTestbed, Workload
from tests.suites import effort

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.statements import Statement

every_figure = pytest.mark.skipif(
    effort(usual=True, thorough=False), reason="a quarter of an hour: make thorough has it"
)

DIFFERENT = {
    "figure-6": {"level"},
    "figure-7": {"lb-falls"},
    "figure-8": {"three", "third", "bursts", "improves"},
    "figure-9": {"srtm-meets", "more-brokers"},
    "figure-10": {"even-worse"},
    "figure-11": set(),
    "table-1": {"burstier"},
    "shift": set(),
}
"""What does not hold, and docs/srtm.md says why."""


def differing(statements: Iterable[Statement]) -> set[str]:
    return {entry.key for entry in statements if not entry.holds}


def test_a_split_costs_what_the_paper_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "REPETITIONS", 1)
    figure = experiments.penalty()
    assert differing(figure.statements) == DIFFERENT["figure-6"]
    # Of the rise from one broker to six the contract alone explains all but processing.
    light = figure.panels[0].lines["over k brokers"]
    contract = VirtualTestbed(Workload(publishers=1_000), 1).problem.contract
    waits = 1e3 * (6.0 * contract.bucket / MARGIN - contract.bucket) / contract.token_rate_per_s
    assert waits <= light[-1].p99_ms <= 1.1 * waits


def test_parts_that_follow_the_traffic_keep_it_from_waiting() -> None:
    rows = shift.shifted()
    assert differing(shift.statements(rows)) == DIFFERENT["shift"]
    static, by_the_paper, own = rows
    assert own.soon_s < 0.01 * by_the_paper.soon_s
    assert static.settled_s > 1.0


@every_figure
@pytest.mark.parametrize("name", ["concentration", "max_min_parts", "imprecise_correlation"])
def test_statements_of_the_paper_hold(name: str) -> None:
    figure = getattr(experiments, name)()
    assert differing(figure.statements) == DIFFERENT[figure.name]


@every_figure
def test_correlation_keys_do_what_the_paper_says() -> None:
    for figure in experiments.correlation():
        assert differing(figure.statements) == DIFFERENT[figure.name]


@every_figure
def test_the_page_holds_every_figure_and_what_was_measured_on_the_fleet() -> None:
    rows, shifts = table_1.table(), shift.shifted()
    assert differing(table_1.statements(rows)) == DIFFERENT["table-1"]
    figure = experiments.penalty()
    fleet = json.loads(FLEET.read_text(encoding="utf-8"))
    page = markdown(
        [figure],
        {figure.name: "penalty.png"},
        rows,
        table_1.statements(rows),
        shifts,
        shift.statements(shifts),
        fleet,
    )
    assert "![The penalty of a split (figure 6)](penalty.png)" in page
    for row in fleet["rows"]:
        assert f"| {row['run']} | `{row['method']}` | {row['brokers']} |" in page


def test_every_placement_is_measured_with_the_same_messages() -> None:
    bench = VirtualTestbed(Workload(publishers=300, batch=10, group=10), 2)
    one, three = (bench.measured(bench.over(count, MAX_MIN)) for count in (1, 3))
    again = bench.measured(bench.over(3, MAX_MIN))
    assert three.p99_by_broker_s == again.p99_by_broker_s
    assert one.p99_s < three.p99_s
