"""The job `solve` and its way to Spark: the kernel's own answer, or its own words."""

import json

import pytest
from pyspark.errors.exceptions.connect import SparkConnectException

from spark_tasks import entry
from spark_tasks.jobs.solve import solve_payload
from spark_tasks.reach import SparkAway
from tests.factories.runs import GOLDEN
from tests.spark_tasks.orders import order
from weir.codec import canonical_bytes, problem_from_json, result_from_dict
from weir.optimizers import method
from weir.stop import never

PARAMETERS = {"method": "lrgp", "parameters": {}, "seed": 4}


@pytest.fixture(scope="module")
def payload() -> bytes:
    return canonical_bytes(problem_from_json(GOLDEN.read_bytes()))


def test_answer_is_the_kernels(payload):
    answer, error = solve_payload(payload, order(**PARAMETERS))
    optimizer = method("lrgp")
    expected = optimizer.solve(problem_from_json(payload), optimizer.Params(), stop=never, seed=4)
    assert error is None
    assert answer is not None
    assert result_from_dict(json.loads(answer)) == expected


def test_same_input_gives_the_same_bytes(payload):
    same = order(**PARAMETERS)
    assert solve_payload(payload, same) == solve_payload(payload, same)


@pytest.mark.parametrize(
    ("raw", "parameters", "words"),
    [
        (b"{", PARAMETERS, "not JSON at line 1"),
        (b"{}", PARAMETERS, "missing key"),
        (None, {**PARAMETERS, "parameters": {"max_iterations": 0}}, "max_iterations"),
    ],
)
def test_refusal_is_a_sentence(payload, raw, parameters, words):
    answer, error = solve_payload(payload if raw is None else raw, order(**parameters))
    assert answer is None
    assert error is not None
    assert words in error


def test_time_limit_is_kept(payload):
    endless = {"max_iterations": 1_000_000, "patience": 1_000_000}
    answer, error = solve_payload(
        payload, order(**{**PARAMETERS, "parameters": endless, "time_limit_s": 0.2})
    )
    assert error is None
    assert answer is not None
    assert result_from_dict(json.loads(answer)).iterations < 1_000_000


def test_session_that_was_closed_meanwhile_is_away(payload, tmp_path, monkeypatch):
    class Closed:
        """A session whose client has closed itself after it had been handed out."""

        def addTag(self, tag):
            pass

        removeTag = addTag

        def createDataFrame(self, *args):
            raise SparkConnectException(errorClass="NO_ACTIVE_SESSION", messageParameters={})

    monkeypatch.setattr(entry, "session", lambda remote: Closed())
    with pytest.raises(SparkAway, match="NO_ACTIVE_SESSION"):
        entry.run(
            remote="sc://127.0.0.1:1",
            job="solve",
            tag="t",
            payload=payload,
            input_uri=str(tmp_path / "in"),
            output_uri=str(tmp_path / "out"),
            order=order(**PARAMETERS),
        )


@pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")
def test_server_that_is_not_there_is_away(payload, tmp_path):
    with pytest.raises(SparkAway):
        entry.run(
            remote="sc://127.0.0.1:1",
            job="solve",
            tag="t",
            payload=payload,
            input_uri=(tmp_path / "in").as_uri(),
            output_uri=(tmp_path / "out").as_uri(),
            order=order(**PARAMETERS),
        )


def test_interrupt_of_a_server_that_is_not_there_is_done_already():
    entry.interrupt(remote="sc://127.0.0.1:1", tag="t")


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    """Through the one door."""

    def run(self, remote, payload, folder, tag="t", **parameters):
        return entry.run(
            remote=remote,
            job="solve",
            tag=tag,
            payload=payload,
            input_uri=(folder / "in").as_uri(),
            output_uri=(folder / "out").as_uri(),
            order=order(**{**PARAMETERS, **parameters}),
        )

    def test_answer_is_the_same_as_without_spark(self, spark_server, payload, tmp_path):
        answer, _ = solve_payload(payload, order(**PARAMETERS))
        assert self.run(spark_server, payload, tmp_path) == answer

    def test_refusal_of_the_kernel_is_a_job_error(self, spark_server, tmp_path):
        with pytest.raises(entry.JobError, match="not JSON at line 1"):
            self.run(spark_server, b"{", tmp_path)

    def test_crash_in_the_task_is_a_job_error_of_one_line(self, spark_server, payload, tmp_path):
        with pytest.raises(entry.JobError) as caught:
            self.run(spark_server, payload, tmp_path, method="magic")
        assert "magic" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_session_serves_the_next_job_after_an_interrupt(self, spark_server, payload, tmp_path):
        entry.interrupt(remote=spark_server, tag="nobody")
        assert self.run(spark_server, payload, tmp_path)
