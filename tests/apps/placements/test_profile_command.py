"""`manage.py profile`: exit statuses, rounds on simulated brokers, and what bad input gets."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.weir.placement.problems import plain


def profiled(folder: Path, given: dict[str, Any], *options: str) -> tuple[int, str, Path]:
    """Return exit status, standard error and the path of the result."""
    source, out = folder / "in.json", folder / "out.json"
    source.write_text(json.dumps(given))
    errors = io.StringIO()
    status = 0
    try:
        call_command("profile", str(source), "--out", str(out), *options, stderr=errors)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, errors.getvalue(), out


def topic(true_rate: float | None, *, slo_p99_s: float | None = 0.01) -> dict[str, Any]:
    """Return a topic that two brokers could serve by their publish rates, 60 publishers of it."""
    given = plain(
        [10.0] * 60,
        [5_000.0] * 4,
        topic={"bucket": 5_000, "batch": 10, "slo_p99_s": slo_p99_s},
    )
    if true_rate is not None:
        for broker in given["brokers"]:
            broker["true_rate"] = true_rate
    return given


def test_a_topic_is_placed_again_until_all_keep_the_objective(tmp_path):
    status, errors, out = profiled(tmp_path, topic(2_000.0), "--seed", "3")
    assert status == 0
    result = json.loads(out.read_bytes())
    assert result["brokers_are"] == "simulated"
    assert errors.startswith("profile: brokers are simulated")
    assert f"profile: round {result['measured_rounds']}: " in errors
    first, *_, last = result["rounds"]
    assert first["meets"] is False
    assert all(row["p99_s"] <= 0.01 for row in last["brokers"])
    assert [row["speed_per_s"] for row in last["brokers"]] == pytest.approx(
        [2_000.0] * len(last["brokers"]), rel=0.1
    )
    assert set(result["assignments"]) == {f"p{at:04}" for at in range(60)}
    assert set(result["buckets"]) == {row["broker"] for row in last["brokers"]}
    assert result["search_rounds"] >= result["measured_rounds"]
    _, _, again = profiled(tmp_path, topic(2_000.0), "--seed", "3")
    assert json.loads(again.read_bytes()) == result


def test_an_objective_of_the_mean_alone_is_enough(tmp_path):
    given = topic(1_000.0, slo_p99_s=None)
    given["topic"]["slo_mean_s"] = 0.01
    status, errors, out = profiled(tmp_path, given, "--seed", "3")
    assert status == 0
    assert " s on average" in errors
    first, *_, last = json.loads(out.read_bytes())["rounds"]
    assert any(row["mean_low_s"] > 0.01 and row["verdict"] == "missed" for row in first["brokers"])
    assert all(row["mean_s"] <= 0.01 for row in last["brokers"])
    assert any(row["p99_s"] > 0.01 for row in last["brokers"])


def test_brokers_are_as_fast_as_their_publish_rate_where_nothing_else_is_said(tmp_path):
    status, _, out = profiled(tmp_path, topic(None), "--arrivals", "periodic")
    assert status == 0
    assert json.loads(out.read_bytes())["measured_rounds"] == 1


def test_an_objective_that_no_broker_keeps_is_status_1(tmp_path):
    status, errors, out = profiled(tmp_path, topic(700.0), "--seconds", "20")
    assert status == 1
    assert "no placement keeps the objective" in errors
    assert json.loads(out.read_bytes())["status"] == "missed"


@pytest.mark.parametrize(
    ("given", "options", "reason"),
    [
        (topic(None, slo_p99_s=None), (), "topic.slo_p99_s: must be given"),
        (topic(-1.0), (), "brokers[0].true_rate: must be above 0"),
        ({**topic(1.0), "brokers": [7]}, (), "brokers[0]: must be an object"),
        (topic(1.0), ("--seconds", "90", "--longest", "60"), "--seconds: must be above 0"),
    ],
)
def test_bad_input_is_status_2_and_writes_nothing(tmp_path, given, options, reason):
    status, errors, out = profiled(tmp_path, given, *options)
    assert status == 2
    assert reason in errors
    assert not out.exists()
