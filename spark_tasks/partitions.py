"""Keep a cut problem on Spark: one small job per question, one task per part."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.functions import spark_partition_id
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from spark_tasks.columns import write_flow_part, write_node_part, write_shared
from spark_tasks.partition_tasks import admission_task, answer_task, population_task
from weir.allocation.arrays import Arrays
from weir.allocation.layout import blocks, capacities, class_order, layout
from weir.model import Start
from weir.optimizers.certified.dual import Answer, largest_flow
from weir.optimizers.certified.partition import Sums, flow_parts, node_parts, pairs_of
from weir.optimizers.certified.partitioned import Admission, PartitionedSearch, of_pairs

ANSWERS = StructType([StructField("number", LongType()), StructField("payload", BinaryType())])
NO_WANTED = np.zeros(0, dtype=np.uint8)


class FlowSizes(NamedTuple):
    """Hold the lengths of the pieces of a flow part's answer."""

    blocks: int
    flows: int
    pairs: int


class SparkParts:
    """Parts that are kept in the executors; `Parts` of `weir.optimizers.certified.partitioned`."""

    def __init__(
        self,
        spark: Any,
        folder: str,
        flows: Sequence[FlowSizes],
        node_pairs: Sequence[int],
        rows: int,
        kinds: int,
    ) -> None:
        self._spark, self._folder = spark, folder
        self._flows, self._node_pairs = flows, node_pairs
        self._rows, self._kinds = rows, kinds

    def answers(self, prices: np.ndarray) -> list[tuple[Answer, Sums]]:
        task = partial(answer_task, prices=prices)
        found = self._each(task, [sizes.pairs for sizes in self._flows])
        return [self._answer(raw, sizes) for raw, sizes in zip(found, self._flows, strict=True)]

    def admissions(self, asked: Admission) -> list[Sums]:
        found = self._each(partial(admission_task, asked=asked), self._node_pairs)
        return [self._sums(raw, n) for raw, n in zip(found, self._node_pairs, strict=True)]

    def populations(self, asked: Admission) -> list[np.ndarray]:
        return self._each(partial(population_task, asked=asked), self._node_pairs)

    def _answer(self, raw: np.ndarray, sizes: FlowSizes) -> tuple[Answer, Sums]:
        ends = np.cumsum([sizes.blocks, sizes.blocks, sizes.blocks * self._rows, sizes.flows])
        values, block_sizes, loads, rates, wanted = np.split(raw, ends)
        table = loads.reshape(sizes.blocks, self._rows)
        answer = Answer(values, block_sizes, table, rates, NO_WANTED)
        return answer, self._sums(wanted, sizes.pairs)

    def _sums(self, raw: np.ndarray, pairs: int) -> Sums:
        return Sums(raw[:pairs].copy(), raw[pairs:].reshape(pairs, self._kinds).copy())

    def _each(self, task: Callable[..., bytes], pairs: Sequence[int]) -> list[np.ndarray]:
        """Return the task's answer for every part, in the order of the parts."""
        folder, counts = self._folder, list(pairs)

        def in_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    answer = task(folder, number, counts[number])
                    yield pa.RecordBatch.from_pydict({"number": [number], "payload": [answer]})

        parts = len(counts)
        if not parts:
            return []
        frame = self._spark.range(0, parts, 1, parts).mapInArrow(in_task, ANSWERS)
        # In the order of the parts, whichever task came first: sums must not depend on it.
        rows = sorted(frame.collect(), key=lambda row: row.number)
        return [np.frombuffer(row.payload, dtype=np.float64) for row in rows]


def cores(spark: Any) -> int:
    """Return how many tasks the server runs side by side."""
    frame = spark.range(1 << 16).select(spark_partition_id().alias("part")).distinct()
    return max(1, int(frame.count()))


def cut_search(
    spark: Any, arrays: Arrays, folder: str, parts: int, start: Start | None
) -> PartitionedSearch:
    """Write the problem in parts below `folder` (an address) and search over them."""
    order = class_order(arrays)
    whole, capacity = layout(arrays, order), capacities(arrays)
    pairs = pairs_of(arrays, order)
    write_shared(folder, whole, capacity)
    flows = flow_parts(whole, blocks(len(arrays.flow_ids)), pairs, parts)
    for number, flow_part in enumerate(flows):
        write_flow_part(folder, number, flow_part)
    nodes = node_parts(arrays, whole, order, pairs, parts)
    for number, node_part in enumerate(nodes):
        write_node_part(folder, number, node_part)
    sizes = [FlowSizes(len(at.starts) - 1, len(at.layout.rate_min), at.pairs) for at in flows]
    engine = SparkParts(
        spark,
        folder,
        sizes,
        [len(at.pair_at) for at in nodes],
        len(capacity),
        len(arrays.resources),
    )
    return PartitionedSearch(
        engine,
        arrays,
        of_pairs(arrays, whole, pairs),
        [(at.class_at, at.pair_at) for at in nodes],
        order,
        largest_flow(whole),
        start,
    )
