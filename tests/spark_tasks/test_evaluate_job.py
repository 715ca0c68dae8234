"""The job `evaluate`: the kernel's evaluation, whoever computes which piece."""

import json
import time

import pytest

from spark_tasks import entry
from spark_tasks.jobs.evaluate import answer_of, solve_share
from tests.spark_tasks.orders import order
from tests.weir.evaluation.whole import evaluate
from tests.weir.topologies.instances import problem
from weir.codec.evaluation import evaluation_bytes, evaluation_hash
from weir.codec.evaluation_result import evaluation_result_from_dict
from weir.evaluation.portfolio import portfolio_from_dict

ASKED = {
    "kind": "evaluation",
    "planners": [{"name": "slides", "parameters": {"patience": 5}}],
    "seeds": [0, 1],
}


@pytest.fixture(scope="module")
def evaluation():
    return problem(brokers=10, topics=8, seed=1)


def told(**more):
    return order(parameters=ASKED, **more)


def repeatable(answer):
    """Without what a clock said."""
    plain = json.loads(answer)
    for row in plain["rows"]:
        row["runtime_s"] = 0.0
        if row["plan"] is not None:
            row["plan"]["runtime_s"] = 0.0
    return plain


@pytest.fixture(scope="module")
def here(evaluation):
    result = evaluate(evaluation, portfolio_from_dict(ASKED), clock=time.monotonic)
    return repeatable(answer_of(evaluation, result))


def test_evaluation_says_which_problem_it_answers(evaluation, here):
    plain = dict(here)
    assert plain.pop("problem_hash") == evaluation_hash(evaluation)
    assert plain.pop("kernel_version")
    result = evaluation_result_from_dict(plain)
    assert result.recommended not in ("", "keep_today")


@pytest.mark.parametrize("kind", ["design", "plan"])
def test_every_share_of_the_work_together_is_all_of_it(evaluation, here, kind):
    """Three tasks, each with every third piece, all told by their numbers."""
    payload = evaluation_bytes(evaluation)
    planner = ASKED["planners"][0]
    given = [{"at": at} for at in range(len(here["candidates"]))]
    if kind == "plan":
        given = [
            {
                "candidate": next(
                    each for each in here["candidates"] if each["name"] == row["candidate"]
                ),
                "planner": planner["name"],
                "parameters": planner["parameters"],
                "objective": row["objective"],
                "seed": row["seed"],
            }
            for row in here["rows"]
            if row["planner"]
        ]
    numbered = []
    for task in range(3):
        pieces = [[at, given[at]] for at in range(task, len(given), 3)]
        share = {"kind": kind, "count": len(given), "tasks": 3, "pieces": pieces}
        numbered += solve_share(payload, told(), share)
    rows = [row for _, row in sorted(numbered, key=lambda pair: pair[0])]
    if kind == "design":
        assert [row["edges"] for row in rows] == [row["edges"] for row in here["candidates"]]
    else:
        planned = [row for row in here["rows"] if row["planner"]]
        assert [row["plan"]["steps"] for row in rows] == [r["plan"]["steps"] for r in planned]


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    """Through the one door."""

    def run(self, remote, payload, folder, parameters):
        return entry.run(
            remote=remote,
            job="evaluate",
            tag="t",
            payload=payload,
            input_uri=(folder / "in").as_uri(),
            output_uri=(folder / "out").as_uri(),
            order=parameters,
        )

    def test_evaluation_is_the_same_as_without_spark(
        self, spark_server, evaluation, here, tmp_path
    ):
        payload = evaluation_bytes(evaluation)
        answer = self.run(spark_server, payload, tmp_path, told())
        assert repeatable(answer) == here

    @pytest.mark.parametrize(
        ("payload", "parameters", "words"),
        [
            (b"{", told(), "not JSON at line 1"),
            (None, order(parameters={**ASKED, "seeds": []}), "must hold at least one seed"),
        ],
    )
    def test_refused_evaluation_is_a_job_error(
        self, spark_server, evaluation, tmp_path, payload, parameters, words
    ):
        payload = payload or evaluation_bytes(evaluation)
        with pytest.raises(entry.JobError, match=words):
            self.run(spark_server, payload, tmp_path, parameters)
