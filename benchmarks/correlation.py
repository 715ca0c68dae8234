"""Publishers that burst together, and the smallest bucket of every topic, from recordings.

    python -m benchmarks.correlation [--publishers N] [--topics N] [--engine local|spark|both]

Starts a Spark Connect server of its own in `var/bench`, writes recordings by a seed and goes
through them with both engines. Beside the seconds: how many of the planted groups were recognised,
and how many groups were suggested that nobody planted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.recordings import make_topics
from config.stack import Stack
from spark_tasks import entry
from spark_tasks.order import JobOrder
from spark_tasks.recordings import read_recording
from spark_tasks.session import close
from weir.queueing.smallest_buckets import (
    BucketQuestion,
    answer_of,
    bucket_row,
    question_to_dict,
    smallest_bucket,
)

if TYPE_CHECKING:
    from collections.abc import Callable

STATE_DIR = Path(__file__).resolve().parents[1] / "var" / "bench"
PUBLISHERS, TOPICS, MESSAGES = 1_000_000, 100_000, 100
QUESTION = BucketQuestion(headroom=1.1)


def timed(action: Callable[[], bytes]) -> tuple[bytes, float]:
    """Return what came out and how many seconds it took."""
    began = time.perf_counter()
    answer = action()
    return answer, time.perf_counter() - began


def on_spark(job: str, payload: bytes, folder: Path, order: JobOrder) -> bytes:
    """Run a job as the product does."""
    return entry.run(
        remote=os.environ["WEIR_SPARK_REMOTE"],
        job=job,
        tag=job,
        payload=payload,
        input_uri=(folder / job / "input").as_uri(),
        output_uri=(folder / job / "output").as_uri(),
        order=order,
    )


def buckets_here(uri: str) -> bytes:
    """Return the smallest bucket of every topic, computed in this process."""
    _, _, whole = read_recording(uri, by="topic")
    rows = []
    for at, name in enumerate(whole.names):
        times_s = whole.at_s[whole.starts[at] : whole.starts[at + 1]]
        found = smallest_bucket(name, times_s, int(whole.publishers[at]), QUESTION)
        rows.append(bucket_row(found))
    return answer_of(rows, QUESTION)


def measure_buckets(folder: Path, topics: int, engines: list[str]) -> None:
    """Print how long the smallest buckets of all topics take."""
    source = folder / "topics.parquet"
    rows = make_topics(source, topics=topics, messages=MESSAGES, seed=1)
    payload = json.dumps(question_to_dict(QUESTION)).encode()
    order = JobOrder(inputs={"recording": source.as_uri()})
    ways: dict[str, Callable[[], bytes]] = {
        "local": lambda: buckets_here(source.as_uri()),
        "spark": lambda: on_spark("smallest_buckets", payload, folder, order),
    }
    print(f"smallest buckets: {topics:,} topics, {rows:,} messages")
    answers = set()
    for engine in engines:
        answer, seconds = timed(ways[engine])
        answers.add(answer)
        print(f"  {engine:6} {seconds:7.1f} s, {rows / seconds:12,.0f} messages a second")
    if len(answers) > 1:
        raise SystemExit("the engines differ")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--publishers", type=int, default=PUBLISHERS)
    parser.add_argument("--topics", type=int, default=TOPICS)
    parser.add_argument("--engine", choices=["local", "spark", "both"], default="both")
    options = parser.parse_args()
    engines = ["local", "spark"] if options.engine == "both" else [options.engine]
    STATE_DIR.mkdir(parents=True, exist_ok=True)
    stack = Stack(state_dir=STATE_DIR, parts=("spark",), given=dict(os.environ))
    stack.up()
    folder = Path(tempfile.mkdtemp(prefix="correlation-", dir=STATE_DIR))
    try:
        os.environ.update(stack.environment())
        if options.topics:
            measure_buckets(folder, options.topics, engines)
    finally:
        close()
        stack.down()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
