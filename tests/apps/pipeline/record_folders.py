"""Folders of random records, with rows that do not fit, and the facts made of them."""

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from django.core.management import call_command
from pyarrow import parquet

from weir.queueing.wait_histogram import HIGHEST, LOWEST, upper_edge_s

BEGAN_S = 1_700_000_000.0
FACTS = {
    "publications": ("since_s", "topic", "publisher", "broker"),
    "topics": ("since_s", "topic"),
    "consumption": ("since_s", "topic", "consumer_class", "broker"),
    "traffic": ("since_s", "origin", "broker"),
    "interests": ("subscriber", "topic", "consumer_class"),
    "requests": ("since_s", "topic", "consumer_class", "broker"),
    "delay_histograms": ("since_s", "topic", "kind", "consumer_class", "bin"),
    "delays": ("since_s", "topic", "kind", "consumer_class"),
    "brokers": ("since_s", "broker", "topic", "consumer_class", "metric"),
    "quarantined": ("table", "file", "row", "problem"),
}


def run(records: Path, out: Path, *options: str) -> tuple[int, str]:
    """Return exit status and standard error."""
    errors, status = io.StringIO(), 0
    try:
        call_command("run_pipeline", str(records), "--out", str(out), *options, stderr=errors)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, errors.getvalue()


def write(folder: Path, table: str, rows: list[dict[str, Any]], *, files: int = 1) -> Path:
    """Write rows of a table of records as some files of several row groups."""
    (folder / table).mkdir(parents=True, exist_ok=True)
    for number in range(files):
        here = pa.Table.from_pylist(rows[number::files])
        path = folder / table / f"part-{number}.parquet"
        parquet.write_table(here, path, row_group_size=max(1, len(rows) // files // 3))
    return folder


def facts_of(out: Path, name: str) -> Any:
    """Return a table of facts in the order of its files."""
    files = sorted((out / name).glob("*.parquet"))
    return pa.concat_tables([parquet.read_table(file) for file in files])


def records(seed: int, rows: int = 3000) -> dict[str, list[dict[str, Any]]]:
    """Return random records of an hour, with everything in them that a column may hold."""
    chance = np.random.default_rng(seed)

    def of(*names: str) -> str:
        return str(chance.choice(names))

    def one(kind: str) -> dict[str, Any]:
        at_s = BEGAN_S + float(chance.choice([chance.uniform(0, 3600), chance.integers(0, 40) / 4]))
        if kind == "samples":
            value = float(chance.normal(0, 10.0 ** chance.integers(-3, 9)))
            metric = of("cpu_ratio", "memory_bytes")
            place = {"broker": of("b1", "b2"), "topic": of("", "t1"), "consumer_class": of("", "c")}
            return {"at_s": at_s, **place, "metric": metric, "value": value}
        row = {
            "at_s": at_s,
            "topic": of("t1", "t2", "Füße", "👾"),
            "broker": of("b1", "b2", "b3", ""),
            "messages": int(chance.geometric(0.5)),
        }
        if kind == "delays":
            what = {"kind": of("delivery", "answer", "gate"), "consumer_class": of("gold", "")}
            bin_ = int(chance.integers(LOWEST, HIGHEST))
            delay_s = float(chance.choice([0.0, chance.lognormal(-5, 2), upper_edge_s(bin_)]))
            return {**row, **what, "delay_s": delay_s}
        row["bytes"] = int(chance.integers(0, 5000))
        if kind == "messages":
            return {**row, "publisher": of("p1", "p2", "p3")}
        delay_s = float(chance.choice([0.0, chance.lognormal(-5, 2), 1e-12]))
        return {
            **row,
            "subscriber": of("u1", "u2", "u3", "u4"),
            "consumer_class": of("gold", "public", ""),
            "origin": of("b1", "b2", ""),
            "delay_s": None if chance.random() < 0.1 else delay_s,
        }

    kinds = ("messages", "deliveries", "requests", "samples", "delays")
    return {kind: [one(kind) for _ in range(rows)] for kind in kinds}


def spoiled() -> dict[str, list[dict[str, Any]]]:
    """Return records of which some rows do not fit."""
    fits = {"at_s": BEGAN_S, "topic": "t", "publisher": "p", "messages": 1}
    received = {"at_s": BEGAN_S, "topic": "t", "subscriber": "u", "delay_s": 0.1}
    sample = {"at_s": BEGAN_S, "broker": "b", "metric": "m", "value": 1.0}
    bucket = {"at_s": BEGAN_S, "topic": "t", "kind": "gate", "delay_s": 0.1, "messages": 2}
    return {
        "messages": [
            fits,
            {**fits, "topic": None},
            {**fits, "publisher": ""},
            {**fits, "at_s": math.nan},
            {**fits, "at_s": BEGAN_S * 1000},
            {**fits, "messages": 0},
            {**fits, "messages": 2_000_000},
            {**fits, "messages": None},
            {**fits, "topic": "", "messages": 0},
        ],
        "deliveries": [received, {**received, "delay_s": -0.001}, {**received, "delay_s": None}],
        "samples": [sample, {**sample, "value": math.inf}, {**sample, "value": None}],
        "delays": [
            bucket,
            {**bucket, "kind": "queue"},
            {**bucket, "kind": "Gate", "topic": ""},
            {**bucket, "kind": None},
            {**bucket, "kind": ""},
            {**bucket, "delay_s": None},
            {**bucket, "delay_s": 1.1e6},
            {**bucket, "messages": 0},
        ],
    }
