"""Facts of generated records: both engines beside DuckDB and plain pandas, in one run.

    python -m benchmarks.pipeline [--records N] [--kind KIND] [--engine local|spark|both]

Starts a Spark Connect server of its own in `var/bench`. Each way runs in a process of its own, and
memory is the most that it had; that of Spark's server and its tasks is not in it. DuckDB computes
eight of the tables (benchmarks/facts_in_sql.py), pandas five (publications, topics, consumption,
interests, and percentiles of the delays themselves) as one would write them down, with all records
in memory: of many records only a sample. How many rows they get is compared.
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
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from pyarrow import parquet

from benchmarks.correlation import on_spark
from benchmarks.facts_in_sql import QUESTIONS, facts_by_duckdb
from config.stack import Stack
from spark_tasks.order import JobOrder
from spark_tasks.pipeline import compute_here
from spark_tasks.session import close

STATE_DIR = Path(__file__).resolve().parents[1] / "var" / "bench"
WINDOW_S = 60
RECORDS = 3_000_000
MOST_IN_PANDAS = 3_000_000


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


def in_sql(records: Path, out: Path) -> dict[str, int]:
    """Return how many rows each table has, computed by DuckDB."""
    table_of = facts_by_duckdb(records, window_s=WINDOW_S)
    sizes = {}
    for name in QUESTIONS:
        rows = table_of(name)
        sizes[name] = len(rows)
        parquet.write_table(rows, out / f"{name}.parquet", compression="zstd")
    return sizes


WAYS: dict[str, Callable[[Path, Path], dict[str, int]]] = {
    "local": here,
    "spark": there,
    "duckdb": in_sql,
    "pandas": plainly,
}


def go(way: str, records: Path, out: Path) -> None:
    """Go one way in this process; print what it took, as JSON."""
    out.mkdir()
    began, began_cpu = time.perf_counter(), time.process_time()
    try:
        sizes = WAYS[way](records, out)
    finally:
        close()
    took = {"seconds": time.perf_counter() - began, "cpu_s": time.process_time() - began_cpu}
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**took, "most_mib": most, "sizes": sizes}))


def measure(way: str, source: Path, records: int) -> dict[str, int]:
    """Go one way in a process of its own; print how long it takes and how much memory it needs, and
    return how many rows its tables have."""
    out = source.parent / f"{source.name}-{way}"
    command = [sys.executable, "-m", "benchmarks.pipeline", "--way", way, str(source), str(out)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    took = json.loads(done.stdout.splitlines()[-1])
    shutil.rmtree(out)
    print(
        f"  {way:6} {records:13,} records {took['seconds']:7.1f} s "
        f"({took['cpu_s']:.1f} s of this process's processor time), "
        f"{records / took['seconds']:12,.0f} records a second, {took['most_mib']:,.0f} MiB",
        flush=True,
    )
    return dict(took["sizes"])


def compare(folder: Path, kind: str, records: int, ways: list[str]) -> None:
    """Print what each way takes. Raises SystemExit where their tables differ in length."""
    source = folder / f"{records}"
    began = time.perf_counter()
    command = [sys.executable, "manage.py", "generate_records", str(source), "--kind", kind]
    subprocess.run([*command, "--records", str(records), "--seed", "1"], check=True)
    print(f"generate {records:,} records: {time.perf_counter() - began:.1f} s", flush=True)
    sizes = {way: measure(way, source, records) for way in ways}
    first = sizes[ways[0]]
    for way, others in sizes.items():
        for name in others.keys() & first.keys():
            if others[name] != first[name]:
                raise SystemExit(f"{name}: {way} has {others[name]:,} rows, not {first[name]:,}")
    shutil.rmtree(source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--kind", choices=["market", "iot"], default="market")
    parser.add_argument("--engine", choices=["local", "spark", "both"], default="both")
    parser.add_argument("--way", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("paths", type=Path, nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        go(options.way, *options.paths)
        return
    engines = ["local", "spark"] if options.engine == "both" else [options.engine]
    STATE_DIR.mkdir(parents=True, exist_ok=True)
    stack = Stack(state_dir=STATE_DIR, parts=("spark",), given=dict(os.environ))
    stack.up()
    folder = Path(tempfile.mkdtemp(prefix="pipeline-", dir=STATE_DIR))
    try:
        os.environ.update(stack.environment())
        if options.records > MOST_IN_PANDAS:
            compare(folder, options.kind, options.records, [*engines, "duckdb"])
        sample = min(options.records, MOST_IN_PANDAS)
        compare(folder, options.kind, sample, [*engines, "duckdb", "pandas"])
    finally:
        stack.down()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
