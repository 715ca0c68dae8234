"""The experiments of the Gryphon paper: pictures and the table beside the paper's statements.

python -m benchmarks.gryphon [--out docs/pictures/gryphon] [--report docs/gryphon.md]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.gryphon import correction, experiments, pictures
from benchmarks.gryphon.report import markdown

DRAW = {
    "trading-day": pictures.draw_trading_day,
    "gold-increase": pictures.draw_gold_increase,
    "excess-capacity": pictures.draw_excess_capacity,
    "latency": pictures.draw_latency,
}


def main() -> None:
    """Run, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/gryphon"))
    parser.add_argument("--report", type=Path, default=Path("docs/gryphon.md"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = experiments.compared()
    outcomes, drawn = [], {}
    for experiment in experiments.EXPERIMENTS:
        outcome = experiments.run(experiment, names)
        path = options.out / f"{outcome.name}.png"
        DRAW[outcome.name](outcome.traces, path)
        drawn[outcome.name] = Path(os.path.relpath(path, options.report.parent)).as_posix()
        outcomes.append(outcome)
        print(f"{outcome.title}: {path}")
        for entry in outcome.statements[outcome.judged]:
            print(f"  {'holds' if entry.holds else 'DIFFERS'}  {entry.paper}  [{entry.measured}]")
    ratios = correction.run(names[-1])
    page = markdown(outcomes, drawn, ratios, correction.statements(ratios))
    options.report.write_text(page, encoding="utf-8")
    print(f"written: {options.report}")


if __name__ == "__main__":
    main()
