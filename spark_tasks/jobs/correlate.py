"""Look for publishers that burst together (the shape `correlate`).

What agents measured is in the payload and fits into one task (`weir.correlation.answer`). A
recording, which `inputs` of the order name, is gathered by publisher; then the search of
`weir.correlation.suggest` runs over its parts, with the same answer to the last byte. What a stage
leaves stays in files beside the answer; this process hears of sizes, and of the groups at the end.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from spark_tasks.blocks import Steps, collected, exchange, spread
from spark_tasks.correlation_parts import EVENT, PERIOD, Parts
from spark_tasks.gathering import Report, gather
from spark_tasks.io import ANSWER_SCHEMA, read_snapshot, write_answer
from spark_tasks.jobs.kernel import answer_of, call_kernel
from spark_tasks.one_task import answer_in_task
from spark_tasks.order import JobOrder
from spark_tasks.partitions import cores
from spark_tasks.progress import Reporter
from weir.codec.correlation import (
    CorrelationAnswer,
    CorrelationSnapshot,
    answer_bytes,
    search_from_dict,
    snapshot_from_json,
)
from weir.correlation.suggest import suggested_of
from weir.errors import InvalidProblem, WeirError

KERNEL = "weir.correlation.answer"
TASKS_PER_CORE = 4
BANDS_PER_TASK = 4
"""The keys of so many bands are in a task at once: 16 bytes a publisher each."""


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Search what was measured in one task, a recording in many; write the answer."""
    if "recording" not in order.inputs:
        call = partial(call_kernel, answer_of(KERNEL), order=replace(order, kernel=KERNEL))
        answer_in_task(spark, input_uri, output_uri, call)
        return
    payload = bytes(read_snapshot(spark, input_uri).collect()[0].payload)
    try:
        answer, error = _answer(spark, payload, output_uri, order), None
    except WeirError as problem:
        answer, error = None, str(problem)
    row = [(None if answer is None else bytearray(answer), error)]
    write_answer(spark.createDataFrame(row, ANSWER_SCHEMA).coalesce(1), output_uri)


def _answer(spark: Any, payload: bytes, output_uri: str, order: JobOrder) -> bytes:
    snapshot = snapshot_from_json(payload)
    if snapshot.recording is None:
        raise InvalidProblem("source.kind", "must be recording where the order names one")
    with Reporter(order.progress_url, order.progress_token) as reporter:

        def report(phase: str, done: int, total: int) -> None:
            reporter.offer({"phase": phase, "done": done, "total": total})

        return _search(spark, snapshot, f"{output_uri}-parts", order, report)


def _search(
    spark: Any, snapshot: CorrelationSnapshot, folder: str, order: JobOrder, report: Report
) -> bytes:
    """Return the answer of a recording, stage by stage."""
    search, recording = search_from_dict(order.parameters), snapshot.recording
    assert recording is not None
    frozen = {
        "name": recording.name,
        "bytes": recording.size_bytes,
        "modified_s": recording.modified_s,
    }
    whole = gather(
        spark,
        order.inputs["recording"],
        folder,
        by="publisher",
        topic=snapshot.topic,
        within_s=search.within_s,
        frozen=frozen,
        report=report,
    )
    parts = Parts(
        folder=folder,
        offsets=whole.offsets,
        since_s=whole.survey.since_s,
        until_s=whole.survey.until_s,
        search=search,
    )
    count, tasks = len(whole.names), TASKS_PER_CORE * cores(spark)

    def each(numbers: list[int], work: Callable[[int], Iterator[tuple[int, Any]]]) -> Any:
        return spread(spark, numbers, lambda _, given: work(given[0]))

    # Each publisher by itself, then all periods at once.
    profiled = each(parts.numbers(), parts.profile)
    frame = exchange(profiled, 1, lambda _, blocks: parts.periods(blocks, tasks))
    report("periods", 0, parts.publishers)
    ((judged, period_s, of_periods),) = collected(frame)

    # Who has a key in common with whom.
    bands = parts.plan.bands
    lanes = min(bands, max(tasks, bands // BANDS_PER_TASK))
    frame = exchange(
        each(parts.numbers(), parts.keys), lanes, lambda _, blocks: parts.candidates(blocks)
    )
    kept = collected(exchange(frame, count, parts.keep_pairs), Steps(report, "pairs", count))
    with_pairs = [number for number, pairs in kept if pairs]

    # Which of them burst together.
    sent = exchange(each(with_pairs, parts.ask_moments), count, parts.send_moments)
    frame = exchange(sent, count, parts.judge_pairs)
    judged_parts = collected(frame, Steps(report, "judge", len(with_pairs)))
    with_edges = [number for number, edges in judged_parts if edges]

    # Groups of them, and of those that share period and phase.
    frame = spread(spark, [with_edges], lambda _, given: parts.components(given[0], tasks))
    of_edges = collected(frame) if with_edges else []
    step = Steps(report, "groups", len(of_edges) + len(of_periods))
    groups = []
    for kind, numbers, evidence in (
        (EVENT, of_edges, parts.event_evidence),
        (PERIOD, of_periods, parts.period_evidence),
    ):
        wanted = each(numbers, partial(parts.ask_members, kind))
        sent = exchange(wanted, count, partial(parts.send_members, kind))
        for some in collected(exchange(sent, tasks, evidence), step) if numbers else []:
            groups += some
    suggested = suggested_of(
        groups,
        since_s=parts.since_s,
        until_s=parts.until_s,
        messages=sum(whole.messages),
        publishers=parts.publishers,
        judged=judged,
        period_s=period_s,
    )
    return answer_bytes(CorrelationAnswer(topic=snapshot.topic, search=search, suggested=suggested))
