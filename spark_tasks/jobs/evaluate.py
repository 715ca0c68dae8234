"""Compare many goal topologies in two rounds of many small pieces (the shape `evaluate`).

First every method and seed designs a candidate, then every planner and seed plans the way to every
different one, in a few tasks per core.
"""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from pyspark.sql import functions
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores
from spark_tasks.progress import Reporter
from weir import __version__
from weir.codec.evaluation import evaluation_from_json, evaluation_hash
from weir.codec.evaluation_result import (
    candidate_from_dict,
    candidate_to_dict,
    evaluation_result_to_dict,
    plan_row_from_dict,
    plan_row_to_dict,
)
from weir.errors import WeirError
from weir.evaluation.portfolio import (
    DESIGN_SHARE,
    Choice,
    Unit,
    design,
    designs,
    gather,
    named,
    portfolio_from_dict,
    share_s,
    solve_unit,
    units,
)
from weir.model.evaluation import EvaluationProblem, EvaluationResult
from weir.routing.cost import routing

TASKS_PER_CORE = 3
SHARES_SCHEMA = StructType([StructField("id", LongType()), StructField("share", BinaryType())])
PIECES_SCHEMA = StructType([StructField("payload", BinaryType())])


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the snapshot, compare in tasks, write the answer."""
    answer, error = _spread(spark, input_uri, order)
    row = [(None if answer is None else bytearray(answer), error)]
    write_answer(spark.createDataFrame(row, ANSWER_SCHEMA).coalesce(1), output_uri)


def _spread(spark: Any, input_uri: str, order: JobOrder) -> tuple[bytes | None, str | None]:
    """Return the answer of two rounds on the cluster, or the sentence that refuses the problem."""
    payload = bytes(read_snapshot(spark, input_uri).collect()[0].payload)
    try:
        problem = evaluation_from_json(payload)
        portfolio = portfolio_from_dict(order.parameters)
    except WeirError as error:
        return None, str(error)
    asked = [{"at": at} for at in range(len(designs(portfolio)))]
    today = routing(problem, problem.today)
    with Reporter(order.progress_url, order.progress_token) as reporter:
        rounds = _Rounds(spark, input_uri, order, reporter)
        made = [candidate_from_dict(row) for row in rounds.pieces("design", asked)]
        candidates = named(made, today)
        work = units(problem, portfolio, candidates)
        rows = rounds.pieces("plan", [_unit_to_dict(unit) for unit in work])
    found = [plan_row_from_dict(row) for row in rows]
    result = gather(problem, candidates, found, today=today, objective=portfolio.objective)
    return answer_of(problem, result), None


class _Rounds:
    """Pieces spread over tasks, every n-th to the same one."""

    def __init__(self, spark: Any, input_uri: str, order: JobOrder, reporter: Reporter) -> None:
        self._spark, self._input_uri = spark, input_uri
        self._order, self._reporter = order, reporter
        self._tasks = TASKS_PER_CORE * cores(spark)

    def pieces(self, kind: str, given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the answers to all of them, in order."""
        if not given:
            return []
        tasks = min(len(given), self._tasks)
        order = self._order

        def in_task(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for frame in frames:
                for share, payload in zip(frame["share"], frame["payload"], strict=True):
                    asked = json.loads(bytes(share))
                    rows = solve_share(bytes(payload), order, asked)
                    yield pd.DataFrame({"payload": [json.dumps(rows).encode()]})

        shares = [self._share(kind, given, task, tasks) for task in range(tasks)]
        table = self._spark.createDataFrame(list(enumerate(shares)), SHARES_SCHEMA)
        # One partition per task number; what is broadcast joins it without moving it.
        frame = self._spark.range(0, tasks, 1, tasks)
        frame = frame.join(functions.broadcast(table), "id")
        snapshot = read_snapshot(self._spark, self._input_uri)
        frame = frame.crossJoin(functions.broadcast(snapshot)).mapInPandas(in_task, PIECES_SCHEMA)
        found: list[tuple[int, dict[str, Any]]] = []
        for row in frame.toLocalIterator():
            found += [(at, plain) for at, plain in json.loads(bytes(row.payload))]
            self._reporter.offer({"phase": kind, "done": len(found), "total": len(given)})
        return [plain for _, plain in sorted(found, key=lambda pair: pair[0])]

    @staticmethod
    def _share(kind: str, given: Sequence[dict[str, Any]], task: int, tasks: int) -> bytearray:
        pieces = [[at, given[at]] for at in range(task, len(given), tasks)]
        share = {"kind": kind, "count": len(given), "tasks": tasks, "pieces": pieces}
        return bytearray(json.dumps(share).encode())


def solve_share(
    payload: bytes, order: JobOrder, share: dict[str, Any]
) -> list[tuple[int, dict[str, Any]]]:
    """Work on the pieces of one task one after the other; return their answers, each with its
    number."""
    problem = evaluation_from_json(payload)
    portfolio = portfolio_from_dict(order.parameters)
    designing = share["kind"] == "design"
    part = DESIGN_SHARE if designing else 1 - DESIGN_SHARE
    limit_s = share_s(order.time_limit_s, share["count"], share["tasks"], part)
    asked = designs(portfolio)
    found = []
    clock = time.monotonic
    for at, piece in share["pieces"]:
        if designing:
            candidate = design(problem, asked[piece["at"]], clock=clock, limit_s=limit_s)
            found.append((at, candidate_to_dict(candidate)))
        else:
            unit = _unit_from_dict(at, piece)
            row = solve_unit(problem, unit, clock=clock, limit_s=limit_s)
            found.append((at, plan_row_to_dict(row)))
    return found


def _unit_to_dict(unit: Unit) -> dict[str, Any]:
    return {
        "candidate": candidate_to_dict(unit.candidate),
        "planner": unit.planner.name,
        "parameters": dict(unit.planner.parameters),
        "objective": unit.objective,
        "seed": unit.seed,
    }


def _unit_from_dict(index: int, plain: dict[str, Any]) -> Unit:
    return Unit(
        index=index,
        candidate=candidate_from_dict(plain["candidate"]),
        planner=Choice(name=plain["planner"], parameters=plain["parameters"]),
        objective=plain["objective"],
        seed=plain["seed"],
    )


def answer_of(problem: EvaluationProblem, result: EvaluationResult) -> bytes:
    """Return the answer in its one spelling; the hash says which problem it belongs to."""
    plain = evaluation_result_to_dict(result)
    stamped = {**plain, "problem_hash": evaluation_hash(problem), "kernel_version": __version__}
    return json.dumps(stamped, sort_keys=True).encode()
