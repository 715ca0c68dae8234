"""Map flows to streams and groups, spread where that was asked for (the shape `cluster`).

Without `restarts` and `rounds` it is one call in one task, as the job `kernel`. The searches of
`restarts` run side by side, each in one task. With `rounds` this process (a Connect client) makes
the first map and goes downhill; the blocks of each round cool in a task per core. The answer is
that of one process to the last byte: docs/algorithms/mapping.md.
"""

import json
import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import functions
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from spark_tasks.blocks import BATCH_BYTES, MOST_BATCH_BYTES, collected, spread
from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.jobs.kernel import call_kernel
from spark_tasks.mapping_blocks import block_task, write_shared
from spark_tasks.one_task import answer_in_task
from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores
from spark_tasks.progress import Reporter
from weir.clustering import answer, joint
from weir.clustering.blocks import Improved, Round, Shared, Watch
from weir.codec.mapping import mapping_from_json
from weir.errors import WeirError
from weir.kernel import Call
from weir.plugins import from_dict

CHOICES = StructType(
    [
        StructField("number", LongType()),
        StructField("charged", DoubleType()),
        StructField("complete", BooleanType()),
        StructField("payload", BinaryType()),
        StructField("compared", BinaryType()),
        StructField("error", StringType()),
    ]
)
STOPPED = "time_limit"


def direct(spark: Any, payload: bytes, input_uri: str, order: JobOrder) -> bytes | None:
    """Return the answer of a search by rounds, which this process leads; None without rounds."""
    params = _params(order)
    if params is None or not params.rounds:
        return None
    problem = mapping_from_json(payload)
    with Reporter(order.progress_url, order.progress_token) as reporter:
        limit = _Limit(reporter, order.time_limit_s)
        call = _call(order, limit, reporter)
        choice = joint.cheapest(
            problem,
            params,
            range(params.restarts),
            seed=call.seed,
            stop=call.stop,
            report=answer.searching(call).report,
            workers=SparkWorkers(spark, input_uri, order, limit),
        )
        plain = answer.written(problem, choice.flow_map, params, call)
        return answer.packed({**plain, **answer.compared_costs(problem, call)})


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Search in one task, or with several seeds side by side, and keep the cheapest map."""
    params = _params(order)
    # A curve is drawn once, whatever the number of searches.
    if params is None or params.restarts == 1 or order.inputs.get("curve"):
        answer_in_task(
            spark, input_uri, output_uri, partial(call_kernel, answer.answer, order=order)
        )
        return
    restarts = params.restarts
    waves = -(-restarts // cores(spark))

    def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            for number, payload in zip(frame["id"], frame["payload"], strict=True):
                yield pd.DataFrame([search(bytes(payload), order, int(number), waves)])

    def gather(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        rows: Iterator[Any] = (row for frame in frames for row in frame.to_dict("records"))
        yield pd.DataFrame([cheapest_of(rows)])

    # A row has a whole answer in it; few of them stand side by side in the task that compares them.
    spark.conf.set(BATCH_BYTES, str(MOST_BATCH_BYTES))
    numbers = spark.range(0, restarts, 1, restarts)
    frame = numbers.crossJoin(functions.broadcast(read_snapshot(spark, input_uri)))
    searched = frame.mapInPandas(in_task, CHOICES)
    write_answer(searched.repartition(1).mapInPandas(gather, ANSWER_SCHEMA), output_uri)


def search(payload: bytes, order: JobOrder, number: int, waves: int) -> dict[str, Any]:
    """Return the map of the search with this number, and its cost; or why it was refused.

    A core does `waves` of them in turn, so each has that part of the time limit. The first search
    also says what other maps cost, where that was asked for; `cheapest_of` puts it to the answer.
    """
    row: dict[str, Any] = {"number": number, "charged": 0.0, "complete": False}
    row |= dict.fromkeys(("payload", "compared", "error"))
    with Reporter(order.progress_url, order.progress_token) as reporter:
        limit_s = None if order.time_limit_s is None else order.time_limit_s / waves
        call = _call(order, _Limit(reporter, limit_s), reporter)
        try:
            problem = mapping_from_json(payload)
            params = from_dict(joint.Params, order.parameters)
            report = answer.searching(call).report
            choice = joint.cheapest(
                problem, params, [number], seed=call.seed, stop=call.stop, report=report
            )
            packed = answer.packed(answer.written(problem, choice.flow_map, params, call))
            if number == 0:
                row["compared"] = json.dumps(answer.compared_costs(problem, call)).encode()
        except WeirError as error:
            return {**row, "error": str(error)}
    complete = choice.flow_map.complete
    return {**row, "charged": choice.charged, "complete": complete, "payload": packed}


def cheapest_of(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer with the cheapest map, of equal ones the first, and with what the first
    search compared; or the refusal.

    Of all rows, one at least, only the best so far is kept.
    """
    best: dict[str, Any] | None = None
    refusal: str | None = None
    complete = True
    more: dict[str, Any] = {}
    for row in rows:
        error = row["error"]
        if error is not None:
            # Every task refuses a bad input with the same words; one of them is enough.
            refusal = error if refusal is None else min(refusal, error)
            continue
        complete = complete and bool(row["complete"])
        if row["compared"] is not None:
            more |= json.loads(bytes(row["compared"]))
        if best is None or _rank(row) < _rank(best):
            best = row
    if refusal is not None:
        return {"payload": None, "error": refusal}
    assert best is not None
    packed = bytes(best["payload"])
    if best["complete"] and not complete:
        more["status"] = STOPPED
    if more:
        packed = json.dumps({**json.loads(packed), **more}, sort_keys=True).encode()
    return {"payload": packed, "error": None}


def _rank(row: dict[str, Any]) -> tuple[float, int]:
    """Return what the row of a search is compared by: cost, then number."""
    return row["charged"], row["number"]


class SparkWorkers:
    """Tasks that cool the blocks of a round: one a core, because each costs a part of a second."""

    def __init__(self, spark: Any, folder: str, order: JobOrder, limit: "_Limit") -> None:
        self._spark, self._folder, self._order, self._limit = spark, folder, order, limit
        self._cores = cores(spark)
        self._written: set[str] = set()

    def __call__(self, shared: Shared, round_: Round, watch: Watch) -> Sequence[Improved]:
        """Return the blocks of a round; one that was stopped is there as far as it came."""
        name = write_shared(self._folder, shared, self._written)
        tasks = min(round_.blocks, self._cores)
        limit_s, folder, order = self._limit.left_s(), self._folder, self._order
        sent, begin, end = pickle.dumps(round_), watch.begin, watch.end

        def work(task: int, values: list[Any]) -> Iterator[tuple[int, Improved]]:
            with Reporter(order.progress_url, order.progress_token) as reporter:
                limit = _Limit(reporter, limit_s)
                report = answer.searching(_call(order, limit, reporter)).report
                # The other tasks are about as far as this one.
                here = Watch(stop=limit.is_over, report=report, begin=begin, end=end)
                round_ = pickle.loads(sent)
                mine = range(task, round_.blocks, tasks)
                for at, number in enumerate(mine):
                    part = here.part(at / len(mine), (at + 1) / len(mine))
                    yield number, block_task(folder, name, round_, number, part)

        return collected(spread(self._spark, [None] * tasks, work))


class _Limit:
    """The time that is left, and whether somebody stopped the job."""

    def __init__(self, reporter: Reporter, limit_s: float | None) -> None:
        self._reporter = reporter
        self._end_s = None if limit_s is None else time.monotonic() + limit_s

    def left_s(self) -> float | None:
        """Return how many seconds are left; None without a limit."""
        return None if self._end_s is None else max(self._end_s - time.monotonic(), 0.0)

    def is_over(self) -> bool:
        return self._reporter.told_to_stop or self.left_s() == 0.0


def _call(order: JobOrder, limit: _Limit, reporter: Reporter) -> Call:
    return Call(
        method=order.method,
        parameters=order.parameters,
        seed=order.seed,
        inputs=order.inputs,
        stop=limit.is_over,
        report=lambda progress: reporter.offer(dict(progress)),
    )


def _params(order: JobOrder) -> joint.Params | None:
    """Return the parameters of Weir's own method; None where another one is meant."""
    return from_dict(joint.Params, order.parameters) if order.method in ("", joint.NAME) else None
