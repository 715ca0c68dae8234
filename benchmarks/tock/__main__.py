"""The experiments of the slides on clustering: pictures and a page beside their statements.

python -m benchmarks.tock [--quick] [--out docs/pictures/clustering] [--report docs/clustering.md]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from benchmarks.tock.experiments import outcomes, section
from benchmarks.tock.report import markdown, verdict
from benchmarks.tock.settings import QUICK, USUAL
from weir.warm_up import warm_up_mappings


def main() -> None:
    """Run, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small load and few settings")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/clustering"))
    parser.add_argument("--report", type=Path, default=Path("docs/clustering.md"))
    options = parser.parse_args()
    effort = QUICK if options.quick else USUAL
    options.out.mkdir(parents=True, exist_ok=True)
    warm_up_mappings()
    sections = []
    began = time.monotonic()
    for outcome in outcomes(effort):
        experiment, picture = outcome.experiment, ""
        if experiment.draw is not None:
            path = options.out / f"{experiment.name}.png"
            experiment.draw(outcome.measured, path)
            picture = Path(os.path.relpath(path, options.report.parent)).as_posix()
        sections.append(section(outcome, picture))
        print(f"{experiment.title}: after {time.monotonic() - began:.0f} s", flush=True)
        for entry in outcome.statements:
            print(f"  {verdict(entry)}  {entry.paper}  [{entry.measured}]")
    options.report.write_text(markdown(effort, sections), encoding="utf-8")
    print(f"written: {options.report}")


if __name__ == "__main__":
    main()
