"""The certified optimizer over parts: columns that come back as they went, Spark as local."""

import contextlib
import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.lrgp import workload
from spark_tasks import entry
from spark_tasks.columns import (
    read_capacity,
    read_flow_part,
    read_node_part,
    write_flow_part,
    write_node_part,
    write_shared,
)
from spark_tasks.io import read_columns, write_columns
from spark_tasks.jobs import partitioned
from spark_tasks.partition_tasks import KEPT_PROBLEMS, _kept, kept
from tests.embedded import STATE_DIR
from tests.factories.runs import GOLDEN
from tests.spark_tasks.orders import order
from weir.allocation.arrays import to_arrays
from weir.allocation.layout import blocks, capacities, class_order, layout
from weir.codec import canonical_bytes, problem_from_dict, problem_from_json, result_from_dict
from weir.model.forwarding import Forwarding
from weir.optimizers import certified
from weir.optimizers.certified.partition import flow_parts, node_parts, pairs_of
from weir.stop import never

NO_CUTS = {"exact_rounds": 0}
"""Cutting planes finish the dual of a few thousand flows in one process; parts cannot."""

WHOLE = {"method": "certified", "parameters": NO_CUTS}


def canonical(classes):
    """A snapshot of so many classes, as runs keep it."""
    return canonical_bytes(problem_from_json(workload(classes)))


def test_columns_come_back_as_they_were_written(tmp_path):
    columns = {"a": np.array([1.5, -0.0, 1e300]), "b": np.array([3, 1, 2]), "c": np.zeros(3, bool)}
    uri = (tmp_path / "deep" / "er").as_uri()
    write_columns(uri, columns)
    back = read_columns(uri)
    for name, values in columns.items():
        assert back[name].tobytes() == values.tobytes()
        assert back[name].dtype == values.dtype


def test_parts_come_back_as_they_were_written(tmp_path):
    arrays = to_arrays(problem_from_json(workload(6_000)))
    order = class_order(arrays)
    whole, capacity, pairs = layout(arrays, order), capacities(arrays), pairs_of(arrays, order)
    folder = tmp_path.as_uri()
    write_shared(folder, whole, capacity)
    assert np.array_equal(read_capacity(folder), capacity)
    for number, at in enumerate(flow_parts(whole, blocks(len(arrays.flow_ids)), pairs, 2)):
        write_flow_part(folder, number, at)
        back = read_flow_part(folder, number, at.pairs)
        assert_same(back.layout, at.layout)
        assert np.array_equal(back.starts, at.starts)
        assert np.array_equal(back.class_pair, at.class_pair)
    for number, part in enumerate(node_parts(arrays, whole, order, pairs, 2)):
        write_node_part(folder, number, part)
        read = read_node_part(folder, number, len(part.pair_at))
        assert_same(read.layout, part.layout)
        for name in ("class_flow", "class_pair", "node_start"):
            assert np.array_equal(getattr(read, name), getattr(part, name))


def assert_same(back, layout):
    for name in layout._fields:
        assert np.array_equal(getattr(back, name), getattr(layout, name)), name
        assert getattr(back, name).dtype == getattr(layout, name).dtype, name


def test_worker_reads_a_part_once_and_lets_old_problems_go():
    read = []
    _kept.clear()
    for folder in ("one", "one", "two", "one", "three"):
        kept(folder, "flows", 0, lambda folder=folder: read.append(folder) or folder)
    assert read == ["one", "two", "three"]
    assert list(_kept) == ["one", "three"]
    assert len(_kept) == KEPT_PROBLEMS


@pytest.mark.parametrize(
    ("parameters", "chosen"),
    [
        (WHOLE, False),
        ({**WHOLE, "partitioned": True}, True),
        ({**WHOLE, "method": "lrgp", "partitioned": True}, False),
        ({"method": "certified", "partitioned": True}, False),
    ],
)
def test_partitioning_is_chosen_by_size_unless_somebody_says(parameters, chosen, monkeypatch):
    payload = canonical(4_000)
    problem = problem_from_json(payload)
    assert partitioned.wanted(payload, order(**parameters), lambda: 16) is chosen
    assert payload.count(partitioned.A_CLASS) == len(problem.classes)
    assert payload.count(partitioned.A_FLOW) == len(problem.flows)
    monkeypatch.setattr(partitioned, "FROM_CLASSES", len(problem.classes))
    assert partitioned.wanted(payload, order(**WHOLE), lambda: 16)
    assert not partitioned.wanted(payload, order(**WHOLE, partitioned=False), lambda: 16)
    # Cores that one process uses as well bring nothing; asked for, it is cut all the same.
    threads = certified.Params().threads
    assert not partitioned.wanted(payload, order(**WHOLE), lambda: threads)
    more = {**WHOLE, "parameters": {**NO_CUTS, "threads": 16}}
    assert not partitioned.wanted(payload, order(**more), lambda: 16)
    assert partitioned.wanted(payload, order(**WHOLE, partitioned=True), lambda: 1)


def test_what_cutting_planes_finish_is_never_cut():
    payload = canonical_bytes(problem_from_json(GOLDEN.read_bytes()))
    assert not partitioned.wanted(payload, order(method="certified", partitioned=True), lambda: 16)


def test_what_goes_only_where_it_is_wanted_is_never_cut():
    problem = replace(problem_from_json(canonical(4_000)), forwarding=Forwarding.WANTED)
    whole = order(**WHOLE, partitioned=True)
    assert not partitioned.wanted(canonical_bytes(problem), whole, lambda: 16)


def python_workers():
    """The processes of our Spark server that hold parts: children of its Python daemon."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"pyspark.daemon" in (process / "cmdline").read_bytes() and (
                STATE_DIR in (process / "cwd").resolve().parents
            ):
                status = (process / "stat").read_text().rpartition(")")[2].split()
                parents[int(process.name)] = int(status[1])
    return [pid for pid, parent in parents.items() if parent in parents]


class Killer:
    """Kills a worker now and then once the parts are written."""

    def __init__(self, parts, times):
        self.killed = []
        self._parts, self._times = parts, times
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _work(self):
        while len(self.killed) < self._times and not self._over.wait(0.3):
            for pid in python_workers()[:1] if self._parts.exists() else []:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.killed.append(pid)


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    """Through the one door."""

    def run(self, remote, payload, folder, **parameters):
        answer = entry.run(
            remote=remote,
            job="solve",
            tag="t",
            payload=payload,
            input_uri=(folder / "in").as_uri(),
            output_uri=(folder / "out").as_uri(),
            order=order(**{**WHOLE, "partitioned": True, **parameters}),
        )
        return result_from_dict(json.loads(answer))

    def test_answer_is_that_of_one_process(self, spark_server, tmp_path):
        payload = canonical(30_000)
        parameters = {"polish_steps": 0, "max_iterations": 8, **NO_CUTS}
        result = self.run(spark_server, payload, tmp_path, parameters=parameters)
        problem = problem_from_json(payload)
        params = certified.Params(**parameters)
        expected = certified.solve(problem, params, stop=never, seed=0)
        assert (tmp_path / "in" / "flows-1").exists(), "it was not cut"
        assert result.utility == pytest.approx(expected.utility, rel=1e-9)
        assert result.upper_bound == pytest.approx(expected.upper_bound, rel=1e-12)
        assert result.problem_hash == expected.problem_hash
        assert result.populations == expected.populations
        assert result.rates == pytest.approx(expected.rates, rel=1e-9)
        assert result.trace == pytest.approx(expected.trace, rel=1e-9)

    def test_killed_workers_cost_a_read_and_change_no_answer(self, spark_server, tmp_path):
        payload = canonical(6_000)
        parameters = {"polish_steps": 0, "max_iterations": 8, **NO_CUTS}
        with Killer(tmp_path / "in" / "nodes-1", times=2) as killer:
            result = self.run(spark_server, payload, tmp_path, parameters=parameters)
        assert killer.killed
        expected = certified.solve(
            problem_from_json(payload), certified.Params(**parameters), stop=never, seed=0
        )
        assert result.upper_bound == pytest.approx(expected.upper_bound, rel=1e-12)
        assert result.populations == expected.populations

    def test_time_limit_ends_it_with_an_answer(self, spark_server, tmp_path):
        result = self.run(spark_server, canonical(6_000), tmp_path, time_limit_s=0.001)
        assert result.status == "time_limit"
        assert result.iterations == 1
        assert result.utility > 0

    def test_refusal_of_the_kernel_is_a_job_error(self, spark_server, tmp_path):
        with pytest.raises(entry.JobError, match="not JSON"):
            self.run(spark_server, canonical(4_000)[:-9], tmp_path)

    def test_infeasible_problem_is_an_answer(self, spark_server, tmp_path):
        raw = json.loads(workload(4_000))
        for node in raw["nodes"]:
            node["capacity"] = dict.fromkeys(node["capacity"], 0)
        result = self.run(spark_server, canonical_bytes(problem_from_dict(raw)), tmp_path)
        assert result.status == "infeasible"
        assert result.reason
