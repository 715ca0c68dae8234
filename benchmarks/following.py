"""How far facts are behind records that arrive at a steady rate.

    python -m benchmarks.following [--per-second N ...] [--seconds S]

Every second a file of each table arrives, with so many records together, and
`run_pipeline --follow 0.1` runs beside (one process, no Spark). A second is in the facts when
`summary.json` counts its rows; the lag is how long that took from its arrival. Where the rate is
more than one process sums up, the lag grows to the end: the last is larger than the first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

STATE_DIR = Path(__file__).resolve().parents[1] / "var" / "bench"
RATES = [10_000, 50_000, 200_000]


def seconds_of(source: Path, seconds: int) -> list[dict[str, pa.Table]]:
    """Return records in as many parts, each with the rows of a part of the time."""
    parts: list[dict[str, pa.Table]] = [{} for _ in range(seconds)]
    for folder in sorted(source.iterdir()):
        if not folder.is_dir():
            continue
        whole = pa.concat_tables(map(parquet.read_table, sorted(folder.glob("*.parquet"))))
        whole = whole.sort_by("at_s")
        for number, part in enumerate(parts):
            first, end = (len(whole) * at // seconds for at in (number, number + 1))
            part[folder.name] = whole.slice(first, end - first)
    return parts


def rows_in(summary: Path) -> int:
    """Return how many rows the facts count."""
    if not summary.exists():
        return 0
    return sum(table["rows"] for table in json.loads(summary.read_bytes())["records"].values())


def measure(folder: Path, per_second: int, seconds: int) -> None:
    """Print the lags of so many seconds."""
    source, into, out = folder / "source", folder / "in", folder / "out"
    command = [sys.executable, "manage.py", "generate_records", str(source), "--kind", "market"]
    command += ["--records", str(per_second * seconds), "--seed", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    parts = seconds_of(source, seconds)
    follow = ["run_pipeline", str(into), "--out", str(out), "--follow", "0.1"]
    follower = None
    arrived: list[tuple[float, int]] = []
    lags: list[float] = []
    total = 0
    began = time.monotonic()
    try:
        while len(lags) < seconds:
            now = time.monotonic()
            if len(arrived) < seconds and now - began >= len(arrived):
                for table, rows in parts[len(arrived)].items():
                    (into / table).mkdir(parents=True, exist_ok=True)
                    unfinished = into / table / f".{len(arrived)}"
                    parquet.write_table(rows, unfinished)
                    unfinished.rename(into / table / f"{len(arrived):05}.parquet")
                    total += len(rows)
                arrived.append((time.monotonic(), total))
                if follower is None:
                    follower = subprocess.Popen([sys.executable, "manage.py", *follow])
            counted = rows_in(out / "summary.json")
            while len(lags) < len(arrived) and arrived[len(lags)][1] <= counted:
                lags.append(time.monotonic() - arrived[len(lags)][0])
            if follower is not None and follower.poll() is not None:
                raise SystemExit("the follower ended")
            time.sleep(0.02)
    finally:
        if follower is not None:
            follower.kill()
            follower.wait()
    # The process starts with the first second.
    settled = lags[5:]
    print(
        f"  {per_second:9,} records a second: lag median {statistics.median(settled):.2f} s, "
        f"most {max(settled):.2f} s, of the last second {lags[-1]:.2f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-second", type=int, nargs="+", default=RATES)
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    STATE_DIR.mkdir(parents=True, exist_ok=True)
    for rate in options.per_second:
        with tempfile.TemporaryDirectory(prefix="following-", dir=STATE_DIR) as folder:
            measure(Path(folder), rate, options.seconds)


if __name__ == "__main__":
    main()
