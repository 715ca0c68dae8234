"""The experiments of the SRTM paper: pictures and a page beside the paper's statements.

python -m benchmarks.srtm [--out docs/pictures/srtm] [--report docs/srtm.md]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from benchmarks.srtm import experiments, pictures, shift, table_1
from benchmarks.srtm.report import markdown

FLEET = Path(__file__).with_name("fleet.json")


def main() -> None:
    """Run, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/srtm"))
    parser.add_argument("--report", type=Path, default=Path("docs/srtm.md"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    figures, drawn = [], {}
    for figure in experiments.figures():
        path = options.out / f"{figure.name}.png"
        pictures.draw(figure, path)
        drawn[figure.name] = Path(os.path.relpath(path, options.report.parent)).as_posix()
        figures.append(figure)
        print(f"{figure.title}: {path}", flush=True)
        for entry in figure.statements:
            print(f"  {'holds' if entry.holds else 'DIFFERS'}  {entry.paper}  [{entry.measured}]")
    rows, shifts = table_1.table(), shift.shifted()
    page = markdown(
        figures,
        drawn,
        rows,
        table_1.statements(rows),
        shifts,
        shift.statements(shifts),
        json.loads(FLEET.read_text(encoding="utf-8")),
    )
    options.report.write_text(page, encoding="utf-8")
    print(f"written: {options.report}")


if __name__ == "__main__":
    main()
