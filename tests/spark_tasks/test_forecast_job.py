"""The job `forecast`: series in, the hours to come out, the same alone and over many tasks."""

import json
import math
from pathlib import Path

import pytest

from spark_tasks import entry
from spark_tasks.jobs.forecast import forecast_payload
from tests.spark_tasks.orders import order


def question(count: int = 5) -> bytes:
    series = [
        {
            "subject": "topic",
            "name": f"t{number}",
            "values": [
                round(100.0 + number + 30.0 * math.sin(math.tau * hour / 24) + hour % 7, 6)
                for hour in range(72)
            ],
        }
        for number in range(count)
    ]
    series.append({"subject": "class", "name": "new", "values": [None] * 70 + [1.0, 2.0]})
    head = {"format": 1, "first_hour": 100, "measured_hours": 72, "hours": 6, "level": 0.9}
    return json.dumps({**head, "series": series}).encode()


def test_every_series_is_answered() -> None:
    answer, problem = forecast_payload(question())
    assert (problem, answer is None) == (None, False)
    plain = json.loads(answer or b"")
    assert (plain["first_hour"], len(plain["series"])) == (172, 6)
    new, *topics = plain["series"]
    assert new["reason"] == "2 hours were measured, 48 are needed"
    assert [row["name"] for row in topics] == [f"t{number}" for number in range(5)]
    assert all(row["low"] <= row["mean"] <= row["high"] for row in topics)
    # Series that are alike draw different paths.
    assert topics[0]["high"] != topics[1]["high"]


@pytest.mark.parametrize("payload", [b"{", b'{"format": 9}', b'{"format": 1}', b"[]"])
def test_what_is_no_question_is_refused(payload: bytes) -> None:
    answer, problem = forecast_payload(payload)
    assert answer is None
    assert problem


@pytest.mark.spark
@pytest.mark.slow
def test_both_engines_give_the_same_answer(spark_server: str, tmp_path: Path) -> None:
    payload = question(40)
    alone, _ = forecast_payload(payload)
    for engine in ("local", "spark"):
        answer = entry.run(
            remote=spark_server,
            job="forecast",
            tag=engine,
            payload=payload,
            input_uri=(tmp_path / engine / "in").as_uri(),
            output_uri=(tmp_path / engine / "out").as_uri(),
            order=order(parameters={"engine": engine}),
        )
        assert answer == alone
