"""Facts of generated records: both engines beside plain pandas, in one run.

    python -m benchmarks.pipeline [--records N] [--kind KIND] [--engine local|spark|both]

Starts a Spark Connect server of its own in `var/bench`. pandas computes five of the tables
(publications, topics, consumption, interests, and percentiles of the delays themselves) as one
would write them down, with all records in memory; how many rows it gets is compared. Memory is the
most that this process had until then.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from benchmarks.correlation import on_spark
from config.stack import Stack
from spark_tasks.order import JobOrder
from spark_tasks.pipeline import compute_here
from spark_tasks.session import close

if TYPE_CHECKING:
    from collections.abc import Callable

STATE_DIR = Path(__file__).resolve().parents[1] / "var" / "bench"
WINDOW_S = 60
RECORDS = 3_000_000


def here(records: Path, out: Path) -> dict[str, int]:
    """Return how many rows each table has, computed in this process."""
    answer = compute_here(records.as_uri(), out.as_uri(), window_s=WINDOW_S, report=lambda *_: None)
    return dict(json.loads(answer)["facts"])


def there(records: Path, out: Path) -> dict[str, int]:
    """Return how many rows each table has, computed on Spark."""
    order = JobOrder(inputs={"records": records.as_uri(), "out": out.as_uri()})
    payload = json.dumps({"window_s": WINDOW_S}).encode()
    return dict(json.loads(on_spark("pipeline", payload, out, order))["facts"])


def plainly(records: Path, out: Path) -> dict[str, int]:
    """Return how many rows each table has, computed by pandas as one would write it down."""
    tables: dict[str, pd.DataFrame] = {}
    sums = {"messages": ("messages", "sum"), "bytes": ("bytes", "sum")}
    messages = _table(records, "messages")
    seconds = messages.groupby(["window", "second", "topic", "publisher", "broker"], observed=True)
    by_second = seconds.agg(**sums).reset_index()
    for name, keys in (
        ("publications", ["window", "topic", "publisher", "broker"]),
        ("topics", ["window", "topic"]),
    ):
        whole = by_second.groupby([*keys, "second"], observed=True)["messages"].sum()
        tables[name] = by_second.groupby(keys, observed=True).agg(**sums)
        tables[name]["busiest_second"] = whole.groupby(keys, observed=True).max()
    received = _table(records, "deliveries")
    place = ["window", "topic", "consumer_class", "broker"]
    tables["consumption"] = received.groupby(place, observed=True).agg(
        **sums, subscribers=("subscriber", "nunique")
    )
    interests = received.groupby(["subscriber", "topic", "consumer_class"], observed=True)
    times = {"since_s": ("at_s", "min"), "until_s": ("at_s", "max")}
    tables["interests"] = interests.agg(**sums, **times)
    known = received[received["delay_s"].notna()]
    delays = known.groupby(["window", "topic", "consumer_class"], observed=True)["delay_s"]
    tables["delays"] = delays.quantile([0.5, 0.95, 0.99, 0.999]).unstack().rename(columns=str)
    for name, table in tables.items():
        table.reset_index().to_parquet(out / f"{name}.parquet")
    return {name: len(table) for name, table in tables.items()}


def _table(records: Path, name: str) -> pd.DataFrame:
    rows = pd.read_parquet(records / name)
    for column in rows.select_dtypes(["object", "string"]):
        rows[column] = rows[column].astype("category")
    rows["messages"] = rows.get("messages", 1)
    rows["second"] = rows["at_s"].floordiv(1).astype("int64")
    rows["window"] = rows["second"] // WINDOW_S
    return rows


def measure(folder: Path, kind: str, records: int, engines: list[str]) -> None:
    """Print how long each way takes, and how much memory this process needed until then."""
    source = folder / "records"
    began = time.perf_counter()
    command = [sys.executable, "manage.py", "generate_records", str(source), "--kind", kind]
    subprocess.run([*command, "--records", str(records), "--seed", "1"], check=True)
    print(f"generate {records:,} records: {time.perf_counter() - began:.1f} s")
    ways: dict[str, Callable[[Path, Path], dict[str, int]]] = {
        "local": here,
        "spark": there,
        "pandas": plainly,
    }
    sizes = {}
    for name in [*engines, "pandas"]:
        out = folder / name
        out.mkdir()
        began, began_cpu = time.perf_counter(), time.process_time()
        sizes[name] = ways[name](source, out)
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"  {name:6} {seconds:7.1f} s ({cpu:.1f} s of this process's processor time), "
            f"{records / seconds:12,.0f} records a second, {most:,.0f} MiB"
        )
    for name, rows in sizes["pandas"].items():
        if any(sizes[engine][name] != rows for engine in engines):
            raise SystemExit(f"{name}: the ways differ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--kind", choices=["market", "iot"], default="market")
    parser.add_argument("--engine", choices=["local", "spark", "both"], default="both")
    options = parser.parse_args()
    engines = ["local", "spark"] if options.engine == "both" else [options.engine]
    STATE_DIR.mkdir(parents=True, exist_ok=True)
    stack = Stack(state_dir=STATE_DIR, parts=("spark",), given=dict(os.environ))
    stack.up()
    folder = Path(tempfile.mkdtemp(prefix="pipeline-", dir=STATE_DIR))
    try:
        os.environ.update(stack.environment())
        measure(folder, options.kind, options.records, engines)
    finally:
        close()
        stack.down()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
