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
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.recordings import Planted, make_publishers, make_topics
from config.stack import Stack
from spark_tasks import entry
from spark_tasks.grouping import read_recording
from spark_tasks.order import JobOrder
from spark_tasks.session import close
from weir.codec.correlation import (
    CorrelationAnswer,
    CorrelationSnapshot,
    Recording,
    answer_bytes,
    snapshot_bytes,
)
from weir.correlation.activity import Activity, Search
from weir.correlation.suggest import suggest
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
TOPIC, SEARCH = "depth", Search()
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
    _, whole = read_recording(uri, by="topic")
    rows = []
    for at, name in enumerate(whole.names):
        times_s, counts = whole.of(at)
        publishers = int(whole.publishers[at])
        bucket = smallest_bucket(name, times_s, publishers, QUESTION, counts=counts)
        rows.append(bucket_row(bucket))
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


def members_of(answer: bytes) -> list[set[str]]:
    """Return the members of each group of an answer."""
    return [set(group["members"]) for group in json.loads(answer)["groups"]]


def keys_here(uri: str) -> bytes:
    """Return the groups that burst together, searched in this process."""
    survey, whole = read_recording(uri, by="publisher", topic=TOPIC)
    activity = Activity(
        names=tuple(whole.names),
        starts=whole.starts,
        at_s=whole.at_s,
        since_s=survey.since_s,
        until_s=survey.until_s,
    )
    suggested = suggest(activity, SEARCH)
    return answer_bytes(CorrelationAnswer(topic=TOPIC, search=SEARCH, suggested=suggested))


def recall(suggested: list[set[str]], planted: Planted) -> tuple[float, float, int]:
    """Return shares of planted memberships that are in a suggested group, of events and of phases,
    and how many groups have no two members of one planted group."""
    of_whom = {
        name: number
        for number, members in enumerate([*planted.events, *planted.phases])
        for name in members
    }
    best: dict[int, int] = {}
    false = 0
    for members in suggested:
        counts = Counter(of_whom[name] for name in members if name in of_whom)
        number, most = counts.most_common(1)[0] if counts else (-1, 0)
        false += most < 2
        best[number] = max(best.get(number, 0), most)
    shares = []
    for first, groups in ((0, planted.events), (len(planted.events), planted.phases)):
        whole = sum(len(members) for members in groups)
        kept = sum(best.get(first + at, 0) for at in range(len(groups)))
        shares.append(kept / whole if whole else 1.0)
    return shares[0], shares[1], false


def measure_keys(folder: Path, publishers: int, engines: list[str]) -> None:
    """Print how long a search of all publishers takes, and what it recognises."""
    source = folder / "publishers.parquet"
    planted = make_publishers(source, publishers=publishers, seed=1, topic=TOPIC)
    stat = source.stat()
    recording = Recording(
        name=source.name, size_bytes=stat.st_size, modified_s=stat.st_mtime_ns / 1e9
    )
    payload = snapshot_bytes(CorrelationSnapshot(topic=TOPIC, recording=recording))
    order = JobOrder(inputs={"recording": source.as_uri()})
    ways: dict[str, Callable[[], bytes]] = {
        "local": lambda: keys_here(source.as_uri()),
        "spark": lambda: on_spark("correlate", payload, folder, order),
    }
    print(
        f"correlation: {publishers:,} publishers, {planted.rows:,} messages, planted "
        f"{len(planted.events):,} groups of events and {len(planted.phases):,} of one phase"
    )
    answers = set()
    for engine in engines:
        answer, seconds = timed(ways[engine])
        answers.add(answer)
        suggested = members_of(answer)
        events, phases, false = recall(suggested, planted)
        print(
            f"  {engine:6} {seconds:7.1f} s, {planted.rows / seconds:12,.0f} messages a second; "
            f"{len(suggested):,} groups, {events:.2%} of members of events, {phases:.2%} of "
            f"phases, {false} false groups",
            flush=True,
        )
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
        if options.publishers:
            measure_keys(folder, options.publishers, engines)
    finally:
        close()
        stack.down()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
