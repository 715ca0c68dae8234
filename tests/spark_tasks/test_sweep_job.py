"""The job `sweep`: the kernel's rows, whoever solves which of them."""

import json

import pytest

from spark_tasks import entry
from spark_tasks.jobs import sweep
from spark_tasks.jobs.sweep import answer_of, solve_share
from tests.factories.runs import GOLDEN
from tests.spark_tasks.house import House
from tests.spark_tasks.orders import order
from weir.codec import canonical_bytes, problem_from_json
from weir.scenarios import expand, repeatable, solve_unit, study_from_dict

METHODS = [
    {"method": "lrgp", "parameters": {"max_iterations": 15}},
    {"method": "lrgp", "label": "short", "parameters": {"max_iterations": 5}},
]
SWEEP = {
    "kind": "sweep",
    "methods": METHODS,
    "axes": [
        {
            "label": "Capacity of S2",
            "edit": {"kind": "node_capacity", "nodes": ["S2"]},
            "field": "scale",
            "values": [0, 0.5, 1, 1.5],
        }
    ],
    "scenarios": [
        {"label": "twice", "edits": [{"kind": "remove_flow", "flows": ["f0"]}] * 2},
        {
            "label": "pool",
            "edits": [{"kind": "budget", "resource": "cpu", "nodes": "all", "scale": 1}],
        },
    ],
}
DAY = {
    "kind": "schedule",
    "methods": METHODS,
    "groups": [{"name": "Gold", "classes": ["c18", "c19"]}],
    "segments": [{"label": str(hour), "percent": {"Gold": 10 * hour}} for hour in (10, 2, 7)],
}


@pytest.fixture(scope="module")
def payload() -> bytes:
    return canonical_bytes(problem_from_json(GOLDEN.read_bytes()))


def kernel_rows(payload, spec):
    problem, study = problem_from_json(payload), study_from_dict(spec)
    return [
        row for unit in expand(study) for row in solve_unit(problem, study, unit, clock=lambda: 0.0)
    ]


def told(spec, **more):
    return order(parameters={"study": spec}, **more)


@pytest.mark.parametrize("spec", [SWEEP, DAY], ids=["sweep", "schedule"])
@pytest.mark.parametrize("tasks", [1, 3, 40])
def test_every_share_of_the_work_together_is_the_kernels_answer(payload, spec, tasks):
    rows = []
    for task in range(tasks):
        share, error = solve_share(payload, told(spec), task, tasks)
        assert error is None
        rows += share
    assert repeatable(rows) == repeatable(kernel_rows(payload, spec))


def test_scenarios_without_an_answer_are_rows(payload):
    rows, _ = solve_share(payload, told(SWEEP), 0, 1)
    statuses = {(row["label"], row["status"]) for row in rows}
    assert ("twice", "invalid") in statuses
    assert ("Capacity of S2 0 %", "infeasible") in statuses


def test_what_is_done_already_is_passed_over(payload):
    rows, _ = solve_share(payload, told(SWEEP, done=[0, 1, 2]), 0, 1)
    assert [row["index"] for row in rows] == list(range(3, 14))
    rows, _ = solve_share(payload, told(DAY, done=[0, 1, 2, 3]), 0, 1)
    assert [row["index"] for row in rows] == [3, 4, 5], "a day that broke off begins again"


@pytest.mark.parametrize(
    ("raw", "spec", "words"),
    [
        (b"{", SWEEP, "not JSON at line 1"),
        (None, {"kind": "sweep"}, 'missing key "methods"'),
        (None, None, "must be an object"),
    ],
)
def test_refusal_is_a_sentence(payload, raw, spec, words):
    rows, error = solve_share(payload if raw is None else raw, told(spec), 0, 1)
    assert rows is None
    assert words in error


def test_rows_come_home_while_the_task_runs_and_also_after_a_failed_post(payload, monkeypatch):
    monkeypatch.setattr("spark_tasks.outbox.EVERY_S", 0.01)
    monkeypatch.setattr("spark_tasks.outbox.RETRY_EVERY_S", 0.01)
    with House(fail=1) as house:
        rows, _ = solve_share(
            payload, told(SWEEP, points_url=house.url, progress_token="secret"), 0, 1
        )
    assert house.tokens == {"Bearer secret"}
    assert repeatable(house.rows) == repeatable(rows)


def test_task_that_is_told_to_stop_ends_before_its_work_is_done(payload, monkeypatch):
    monkeypatch.setattr("spark_tasks.outbox.EVERY_S", 0.01)
    long = {**SWEEP, "axes": [{**SWEEP["axes"][0], "values": {"from": 0.5, "to": 2, "count": 400}}]}
    with House(enough=1) as house:
        rows, error = solve_share(payload, told(long, points_url=house.url), 0, 1)
    assert error is None
    assert 0 < len(rows) < 800


def test_rates_stay_out_of_what_is_posted(payload):
    with House() as house:
        rows, _ = solve_share(
            payload, told({**DAY, "keep_rates": True}, points_url=house.url), 0, 1
        )
    assert all(set(row["rates"]) == {f"f{i}" for i in range(6)} for row in rows)
    assert {str(row["rates"]) for row in house.rows} == {"None"}


def test_answer_is_ordered_whatever_order_the_tasks_end_in(payload):
    rows, _ = solve_share(payload, told(DAY), 0, 1)
    assert answer_of(rows[::-1]) == answer_of(rows)


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    """Through the one door."""

    def run(self, remote, payload, folder, spec, **more):
        answer = entry.run(
            remote=remote,
            job="sweep",
            tag="t",
            payload=payload,
            input_uri=(folder / "in").as_uri(),
            output_uri=(folder / "out").as_uri(),
            order=told(spec, **more),
        )
        return json.loads(answer)["points"]

    @pytest.mark.parametrize("spec", [SWEEP, DAY], ids=["sweep", "schedule"])
    def test_answer_is_the_same_as_without_spark(self, spark_server, payload, tmp_path, spec):
        rows = self.run(spark_server, payload, tmp_path, spec)
        assert repeatable(rows) == repeatable(json.loads(json.dumps(kernel_rows(payload, spec))))

    def test_work_is_spread_over_several_tasks(self, spark_server, payload, tmp_path, monkeypatch):
        monkeypatch.setattr(sweep, "TASKS_PER_CORE", 2)
        with House() as house:
            rows = self.run(
                spark_server, payload, tmp_path, SWEEP, points_url=house.url, progress_token="x"
            )
        assert [row["index"] for row in rows] == list(range(14))
        assert repeatable(house.rows) == repeatable(rows)
        assert [row["index"] for row in house.rows] != list(range(14)), "one task did everything"

    def test_nothing_left_to_do_is_an_empty_answer(self, spark_server, payload, tmp_path):
        assert self.run(spark_server, payload, tmp_path, DAY, done=list(range(6))) == []

    @pytest.mark.parametrize(
        ("raw", "spec", "words"),
        [(b"{", SWEEP, "not JSON at line 1"), (None, {"kind": "guess"}, "sweep or schedule")],
    )
    def test_refusal_is_a_job_error(self, spark_server, payload, tmp_path, raw, spec, words):
        with pytest.raises(entry.JobError, match=words):
            self.run(spark_server, payload if raw is None else raw, tmp_path, spec)
