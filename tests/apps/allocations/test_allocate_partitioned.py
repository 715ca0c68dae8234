"""`manage.py allocate --partitioned`: what it refuses, and the same answer from parts on Spark."""

import json

import pytest

from benchmarks.lrgp import workload
from tests.apps.allocations.test_allocate_command import allocate
from tests.factories.runs import GOLDEN


@pytest.mark.parametrize(
    "options", [(), ("--engine", "local"), ("--engine", "spark", "--method", "lrgp")]
)
def test_parts_need_spark_and_the_certified_method(tmp_path, options):
    outcome = allocate(GOLDEN, tmp_path / "out.json", "--partitioned", "yes", *options)
    assert outcome.status == 2
    assert "--engine spark and --method certified" in outcome.said
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.slow
def test_parts_on_spark_give_the_answer_of_one_process(tmp_path, spark_server, settings):
    settings.WEIR_SPARK_REMOTE = spark_server
    settings.WEIR_DATA_DIR = str(tmp_path / "data")
    source = tmp_path / "in.json"
    source.write_bytes(workload(4_000))
    parameters = ("polish_steps=0", "max_iterations=5", "exact_rounds=0")
    parameters = tuple(word for text in parameters for word in ("--param", text))
    on_spark = ("--engine", "spark", "--partitioned", "yes")
    assert allocate(source, tmp_path / "one.json", *parameters).status == 0
    assert allocate(source, tmp_path / "parts.json", *parameters, *on_spark).status == 0
    one, parts = (json.loads((tmp_path / f"{name}.json").read_bytes()) for name in ("one", "parts"))
    assert parts["utility"] == pytest.approx(one["utility"], rel=1e-9)
    assert parts["upper_bound"] == pytest.approx(one["upper_bound"], rel=1e-9)
    assert parts["populations"] == one["populations"]
