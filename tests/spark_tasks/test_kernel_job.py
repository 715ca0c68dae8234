"""The job `kernel`: one call in one task, of whichever kernel the order names."""

import json
import time

import pytest

from spark_tasks import entry
from spark_tasks.jobs.kernel import answer_of, call_kernel
from tests.spark_tasks import endless
from tests.spark_tasks.house import House
from tests.spark_tasks.orders import order
from weir.codec.transformation import transformation_bytes, transformation_plan_from_dict
from weir.planners import answer as plans
from weir.transformation.validation import check
from weir.transformation.workloads import paper_workload

PLAN = {
    "kernel": "weir.planners.answer",
    "method": "slides",
    "parameters": {"patience": 5},
    "objective": "actions",
    "seed": 1,
}


def test_order_names_its_kernel():
    assert answer_of("weir.planners.answer") is plans.answer
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        answer_of("weir.nowhere")


def test_time_limit_says_that_it_is_enough():
    began_s = time.monotonic()
    answer, error = call_kernel(
        endless.answer, b"gulls", order(method="count", seed=7, time_limit_s=0.05)
    )
    assert (answer, error) == (b"gulls count 7 True", None)
    assert time.monotonic() - began_s >= 0.05


def test_whoever_waits_hears_how_far_it_is_and_may_stop_it(monkeypatch):
    monkeypatch.setattr("spark_tasks.progress.EVERY_S", 0.01)
    with House(enough=3) as house:
        reporting = order(progress_url=house.url, progress_token="secret")
        answer, error = call_kernel(endless.answer, b"gulls", reporting)
    assert (answer, error) == (b"gulls  0 True", None)
    done = [row["done"] for row in house.rows]
    assert len(done) >= 3
    assert done == sorted(done)


def test_refusal_is_a_sentence():
    answer, error = call_kernel(endless.answer, b"", order())
    assert (answer, error) == (None, "text: is empty")


def test_plan_is_valid_and_complete():
    problem = paper_workload(brokers=12, seed=1)
    answer, error = call_kernel(plans.answer, transformation_bytes(problem), order(**PLAN))
    assert answer is not None, error
    plan = transformation_plan_from_dict(json.loads(answer))
    assert check(problem, plan.steps) == plan.actions == plan.cost
    assert plan.runtime_s > 0


@pytest.mark.parametrize(
    ("payload", "parameters", "words"),
    [
        (b"{", PLAN, "not JSON at line 1"),
        (None, {**PLAN, "method": "gut"}, 'no planner "gut"'),
        (None, {**PLAN, "parameters": {"speed": 1}}, 'unknown key "speed"'),
    ],
)
def test_refused_plan_is_a_sentence(payload, parameters, words):
    problem = transformation_bytes(paper_workload(brokers=6, seed=1))
    answer, error = call_kernel(plans.answer, payload or problem, order(**parameters))
    assert answer is None
    assert words in error


@pytest.mark.spark
@pytest.mark.slow
def test_plan_is_the_same_as_without_spark_and_refusal_is_a_job_error(spark_server, tmp_path):
    payload = transformation_bytes(paper_workload(brokers=12, seed=1))

    def run(**parameters):
        return entry.run(
            remote=spark_server,
            job="kernel",
            tag="t",
            payload=payload,
            input_uri=(tmp_path / "in").as_uri(),
            output_uri=(tmp_path / "out").as_uri(),
            order=order(**{**PLAN, **parameters}),
        )

    answer = json.loads(run())
    alone = json.loads(call_kernel(plans.answer, payload, order(**PLAN))[0])
    assert {**answer, "runtime_s": 0} == {**alone, "runtime_s": 0}
    with pytest.raises(entry.JobError, match="no planner"):
        run(method="gut")
