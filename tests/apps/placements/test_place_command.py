"""`manage.py place`: exit statuses, results, both engines, and what bad input gets."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.weir.placement.problems import plain


def place(folder: Path, text: Any, *options: str) -> tuple[int, str, Path]:
    """Return exit status, standard error and the path of the result."""
    source, out = folder / "in.json", folder / "out.json"
    source.write_text(text if isinstance(text, str) else json.dumps(text))
    errors = io.StringIO()
    status = 0
    try:
        call_command("place", str(source), "--out", str(out), *options, stderr=errors)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, errors.getvalue(), out


def test_a_topic_that_fits(tmp_path):
    status, errors, out = place(tmp_path, plain([10.0] * 6, [40.0, 40.0]))
    assert (status, errors) == (0, "")
    result = json.loads(out.read_bytes())
    assert result["status"] == "solved"
    assert sorted(result["assignments"]) == [f"p000{at}" for at in range(6)]
    assert sum(bucket["size"] for bucket in result["buckets"].values()) == pytest.approx(40)


def test_no_room_is_status_1_with_what_would_help(tmp_path):
    status, errors, out = place(tmp_path, plain([10.0] * 6, [40.0]))
    assert status == 1
    assert errors == "place: infeasible: no room for 2 publishers; 1 more broker would hold them\n"
    result = json.loads(out.read_bytes())
    assert (result["status"], result["need_brokers"]) == ("infeasible", 1)
    assert len(result["unassigned"]) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"brokers": []}, "there is no broker"),
        ({"pins": {"p0001": "b1"}}, "a pin names a broker without room for it"),
        ({}, "one of them sends more than any broker can take"),
    ],
)
def test_what_no_further_broker_would_mend_is_explained(tmp_path, change, reason):
    status, errors, _ = place(tmp_path, {**plain([5.0, 50.0], [40.0, 10.0]), **change})
    assert status == 1
    assert errors.startswith("place: infeasible: no room for ")
    assert errors.strip().endswith(reason)


def test_a_missed_objective_is_said(tmp_path):
    text = plain([10.0] * 6, [40.0, 40.0], topic={"slo_p99_s": 1e-6, "bucket": 2})
    status, errors, _ = place(tmp_path, text)
    assert status == 0
    assert "b0: the 99th percentile waits" in errors
    assert "the objective is 1e-06 s" in errors


def test_a_missed_objective_of_the_mean_is_said(tmp_path):
    objectives = {"slo_p99_s": 10.0, "slo_mean_s": 1e-6}
    text = plain([10.0] * 6, [40.0, 40.0], topic={**objectives, "bucket": 2})
    status, errors, _ = place(tmp_path, text)
    assert status == 0
    assert "b0: messages wait " in errors
    assert " s on average, the objective is 1e-06 s" in errors
    assert "99th percentile" not in errors


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("publishers[0].rate", lambda text: text["publishers"][0].update(rate=-1)),
        ("pins.p0000", lambda text: text.update(pins={"p0000": "b7"})),
        ("previous.stranger", lambda text: text.update(previous={"stranger": "b0"})),
        ("topic.bucket", lambda text: text["topic"].update(bucket=0.2)),
    ],
)
def test_bad_input_is_status_2_and_writes_nothing(tmp_path, field, change):
    text = plain([10.0], [40.0])
    change(text)
    status, errors, out = place(tmp_path, text)
    assert status == 2
    assert errors.startswith(f"place: {field}: ")
    assert errors.count("\n") == 1
    assert not out.exists()


def test_unknown_method_and_parameter_are_status_2(tmp_path):
    text = plain([10.0], [40.0])
    status, errors, _ = place(tmp_path, text, "--method", "best")
    assert (status, "known are" in errors) == (2, True)
    status, errors, _ = place(tmp_path, text, "--param", "speed=1")
    assert (status, "speed" in errors) == (2, True)


def test_a_time_limit_is_no_option_because_placing_never_stops_early(tmp_path):
    with pytest.raises(CommandError, match="unrecognized arguments: --time-limit"):
        place(tmp_path, plain([10.0], [40.0]), "--time-limit", "5")


@pytest.mark.spark
@pytest.mark.slow
def test_both_engines_give_the_same_bytes(spark_server, tmp_path, settings):
    settings.WEIR_DATA_DIR = tmp_path / "data"
    text = plain([10.0] * 40, [300.0, 200.0], groups=[f"g{at // 5}" for at in range(40)])
    _, _, local = place(tmp_path, text)
    expected = local.read_bytes()
    status, _, on_spark = place(tmp_path, text, "--engine", "spark")
    assert status == 0
    assert on_spark.read_bytes() == expected
