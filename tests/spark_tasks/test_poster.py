"""What a running task posts: progress and rows go the same way home."""

import time

import pytest

from spark_tasks.outbox import Outbox
from spark_tasks.poster import Poster
from spark_tasks.progress import Moments, Reporter
from tests.spark_tasks.house import House

NOBODY = "http://127.0.0.1:1/"


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    for name in ("progress.EVERY_S", "outbox.EVERY_S", "outbox.RETRY_EVERY_S"):
        monkeypatch.setattr(f"spark_tasks.{name}", 0.01)


def tell(poster: Poster, value) -> None:
    if isinstance(poster, Reporter):
        poster.offer(value)
    elif isinstance(poster, Outbox):
        poster.add(value)


@pytest.mark.parametrize("kind", [Reporter, Outbox])
def test_an_answer_may_tell_the_task_to_stop(kind):
    with House(enough=1) as house, kind(house.url, "secret") as poster:
        assert poster.told_to_stop is False
        tell(poster, {"index": 0})
        deadline = time.monotonic() + 60
        while not poster.told_to_stop and time.monotonic() < deadline:
            time.sleep(0.01)
    assert poster.told_to_stop is True
    assert house.rows == [{"index": 0}]
    assert house.tokens == {"Bearer secret"}


@pytest.mark.parametrize("kind", [Reporter, Outbox])
@pytest.mark.parametrize("url", ["", NOBODY])
def test_nobody_to_tell_does_no_harm(kind, url):
    with kind(url, "secret") as poster:
        tell(poster, {"index": 0})
    assert poster.told_to_stop is False


def test_the_end_of_the_work_is_posted_last_whatever_was_offered():
    moments = Moments()
    with House() as house, Reporter(house.url, "secret") as reporter:
        reporter.offer({"iteration": 1})
        moments.note(0)
        reporter.conclude(iterations=2, utility=3.0, moments=moments)
    assert house.rows[-1]["iteration"] == 2
    assert [iteration for iteration, _ in house.rows[-1]["moments"]] == [0, 2]


def test_a_value_that_did_not_change_is_posted_once():
    with House() as house, Reporter(house.url, "secret") as reporter:
        reporter.offer({"iteration": 1})
        deadline = time.monotonic() + 60
        while not house.rows and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
    assert house.rows == [{"iteration": 1}]
