"""Sums of records by minute: exact, once per batch, whatever fails."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.pipeline.models import SUMS, DelaySum, PublishedSum, RequestedSum
from apps.pipeline.services import sums
from apps.pipeline.services.sums import sums_add, sums_add_waiting, sums_tidy
from apps.pipeline.tasks import add_sums, tidy
from apps.records.models import RecordBatch, RecordSettings
from apps.records.services import Choice, batch_receive, set_aside_replay
from apps.runs.services.gateway import minutes
from apps.systems.models import System
from apps.systems.services import system_delete
from tests.factories import make_system
from weir.errors import InvalidProblem
from weir.queueing.wait_histogram import bin_of

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0
NOW_S = int(time.time())
BEGAN_S = NOW_S // 60 * 60 - 3600
Rows = list[dict[str, Any]]


@pytest.fixture
def system(db: None, data: Path) -> System:
    return make_system()


def records(seed: int, count: int = 400) -> dict[str, Rows]:
    """Return random records of four minutes, with what columns may hold."""
    chance = np.random.default_rng(seed)

    def of(*names: str) -> str:
        return str(chance.choice(names))

    def one(table: str) -> dict[str, Any]:
        at_s = BEGAN_S + float(chance.choice([chance.uniform(0, 240), 60 * chance.integers(0, 4)]))
        if table == "samples":
            value = float(chance.normal(0, 10.0 ** chance.integers(-3, 9)))
            metric = of("cpu_ratio", "memory_bytes")
            place = {"broker": of("b1", "b2"), "topic": of("", "t1"), "consumer_class": of("", "c")}
            return {"at_s": at_s, **place, "metric": metric, "value": value}
        row = {
            "at_s": at_s,
            "topic": of("t1", "t2", "Füße", "👾", "it's, \\ \"{NULL}"),
            "broker": of("b1", "b2", ""),
            "messages": int(chance.geometric(0.5)),
        }
        if table == "delays":
            what = {"kind": of("delivery", "answer", "gate"), "consumer_class": of("gold", "")}
            delay_s = float(chance.choice([0.0, chance.lognormal(-5, 2), 1e-12]))
            return {**row, **what, "delay_s": delay_s}
        row["bytes"] = int(chance.integers(0, 1 << 32))
        if table == "messages":
            return {**row, "publisher": of("p1", "p2")}
        delay_s = float(chance.choice([0.0, chance.lognormal(-5, 2), 1e-12]))
        return {
            **row,
            "subscriber": of("u1", "u2", "u3"),
            "consumer_class": of("gold", "public", ""),
            "delay_s": None if chance.random() < 0.1 else delay_s,
        }

    tables = ("messages", "deliveries", "requests", "samples", "delays")
    return {table: [one(table) for _ in range(count)] for table in tables}


def receive(system: System, table: str, rows: Rows) -> RecordBatch:
    batch, repeated = batch_receive(
        system=system,
        table=table,
        name="",
        body="\n".join(map(json.dumps, rows)).encode(),
        media_type="application/x-ndjson",
        actor=None,
    )
    assert not repeated
    assert batch.accepted == len(rows)
    return batch


def receive_all(system: System, given: dict[str, Rows], pieces: int) -> list[RecordBatch]:
    """Send records in pieces, so that each has rows of every minute."""
    return [
        receive(system, table, rows[piece::pieces])
        for piece in range(pieces)
        for table, rows in given.items()
    ]


def expected(given: dict[str, Rows]) -> dict[str, dict[Any, Any]]:
    """Compute the sums by loops over rows."""
    tables: dict[str, dict[Any, Any]] = {name: {} for name in SUMS}

    def add(name: str, key: Any, row: dict[str, Any], **more: int) -> None:
        entry = tables[name].setdefault(key, {"messages": 0, "bytes": 0} | dict.fromkeys(more, 0))
        for measure, value in {"messages": row["messages"], "bytes": row["bytes"], **more}.items():
            entry[measure] += value

    for table, rows in given.items():
        for row in rows:
            since_s = math.floor(row["at_s"]) // 60 * 60
            if table == "samples":
                value = row["value"]
                names = (row["broker"], row["topic"], row["consumer_class"], row["metric"])
                key: tuple[Any, ...] = (since_s, *names)
                exact = Decimal(value).quantize(Decimal("1e-9"))
                entry = tables["measured"].setdefault(
                    key, {"samples": 0, "total": Decimal(0), "least": value, "most": value}
                )
                entry["samples"] += 1
                entry["total"] += exact
                entry["least"], entry["most"] = (
                    min(entry["least"], value),
                    max(entry["most"], value),
                )
                continue
            topic, broker = row["topic"], row["broker"]
            if table == "messages":
                add("published", (since_s, topic, broker), row)
                continue
            group, delay_s = row["consumer_class"], row["delay_s"]
            if table == "delays":
                _count_delay(tables["delays"], (since_s, topic, row["kind"], group), row)
                continue
            if table == "deliveries":
                add("received", (since_s, topic, group, broker), row)
            else:
                lost = row["messages"] if delay_s is None else 0
                add("requested", (since_s, topic, group, broker), row, unanswered=lost)
            if delay_s is None:
                continue
            kind = "delivery" if table == "deliveries" else "answer"
            _count_delay(tables["delays"], (since_s, topic, kind, group), row)
    return tables


def _count_delay(delays: dict[Any, Any], key: tuple[Any, ...], row: dict[str, Any]) -> None:
    bin_ = bin_of(max(row["delay_s"], 1e-9))
    entry = delays.setdefault((*key, bin_), {"messages": 0, "longest_s": 0.0})
    entry["messages"] += row["messages"]
    entry["longest_s"] = max(entry["longest_s"], row["delay_s"])


def stored(system: System) -> dict[str, dict[Any, Any]]:
    tables: dict[str, dict[Any, Any]] = {}
    for name, model in SUMS.items():
        level = minutes().SUMS[name]
        rows: Iterable[Any] = model._default_manager.filter(system=system).values()
        tables[name] = {
            (row["since_s"], *(row[key] for key in level.keys[1:])): {
                measure: row[measure] for measure in level.measures
            }
            for row in rows
        }
    return tables


def waiting(system: System) -> int:
    return RecordBatch.objects.filter(system=system, rolled_up_at=None).count()


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Do all of them at the same moment, each on its own connection."""
    barrier = threading.Barrier(len(works))
    outcomes: list[Any] = [None] * len(works)

    def run(index: int, work: Callable[[], Any]) -> None:
        try:
            barrier.wait(PATIENCE_S)
            outcomes[index] = work()
        except Exception as error:
            outcomes[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    return outcomes


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("pieces", [1, 7])
def test_sums_of_batches_are_those_of_loops_over_all_rows(
    system: System, seed: int, pieces: int
) -> None:
    given = records(seed)
    batches = receive_all(system, given, pieces)
    np.random.default_rng(seed).shuffle(batches)  # type: ignore[arg-type]
    assert all(sums_add(batch) for batch in batches)
    assert stored(system) == expected(given)
    assert waiting(system) == 0


def test_many_keys_are_added_in_pieces(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "ROWS_AT_ONCE", 7)
    given = records(3)
    receive_all(system, given, 2)
    assert add_sums() == 10
    assert stored(system) == expected(given)


def test_names_as_long_as_they_may_be_are_keys(system: System) -> None:
    # Pseudo-random, so that nothing makes them shorter in the index.
    chance = np.random.default_rng(5)

    def name(characters: int = 200) -> str:
        return "".join(map(chr, chance.integers(0x20000, 0x2A000, characters)))

    place = {"at_s": BEGAN_S, "topic": name(), "broker": name(), "consumer_class": name()}
    row = {**place, "messages": 1, "bytes": 0, "subscriber": name(), "delay_s": 1.0}
    given = {"requests": [row], "samples": [{**place, "metric": name(64), "value": 1.0}]}
    receive_all(system, given, 1)
    assert add_sums() == 2
    assert stored(system) == expected(given)


def test_systems_have_their_own_sums(system: System) -> None:
    other = make_system("quay")
    given, others = records(1), records(2)
    receive_all(system, given, 2)
    receive_all(other, others, 2)
    assert add_sums() == 20
    assert stored(system) == expected(given)
    assert stored(other) == expected(others)


def test_a_batch_is_added_once_though_it_is_asked_for_twice(system: System) -> None:
    given = records(1)
    batches = receive_all(system, given, 1)
    assert add_sums() == 5
    assert add_sums() == 0
    assert [sums_add(batch) for batch in batches] == [False] * 5
    assert stored(system) == expected(given)


def test_a_pass_takes_the_oldest_first(system: System) -> None:
    batches = receive_all(system, records(1), 2)
    assert sums_add_waiting(3) == 3
    left = RecordBatch.objects.filter(rolled_up_at=None).order_by("pk")
    assert [batch.pk for batch in left] == [batch.pk for batch in batches[3:]]


def test_rows_from_before_1970_that_were_taken_after_all_leave_no_sums(system: System) -> None:
    rows = [{**row, "at_s": -row["at_s"]} for row in records(1)["messages"]]
    body = "\n".join(map(json.dumps, rows)).encode()
    batch_receive(
        system=system,
        table="messages",
        name="old",
        body=body,
        media_type="application/x-ndjson",
        actor=None,
    )
    set_aside_replay(choice=Choice(system=system), actor=None, amended={})
    batch = RecordBatch.objects.get(replay_of__name="old")
    assert batch.accepted == len(rows)
    assert sums_add(batch)
    assert not PublishedSum.objects.exists()


@pytest.mark.parametrize("gone", ["all", "one day", "a part of it"])
def test_a_batch_whose_files_are_not_whole_waits_and_stops_no_other(
    system: System, data: Path, caplog: pytest.LogCaptureFixture, gone: str
) -> None:
    RecordSettings.objects.create(system=system, late_after_s=7 * 86_400)
    given = records(1)
    earlier = [{**row, "at_s": row["at_s"] - 2 * 86_400} for row in given["messages"]]
    given["messages"] = [*given["messages"], *earlier]
    broken, *_ = receive_all(system, given, 1)
    files = sorted(data.rglob(f"batch-{broken.public_id}.parquet"))
    assert len(files) > 1
    kept = [path.read_bytes() for path in files]
    for path in files if gone == "all" else files[:1]:
        if gone == "a part of it":
            path.write_bytes(path.read_bytes()[:-100])
        else:
            path.unlink()
    assert add_sums() == 4
    assert [record.levelname for record in caplog.records if "not in the sums" in record.message]
    assert PublishedSum.objects.count() == 0
    assert waiting(system) == 1
    with pytest.raises(InvalidProblem):
        sums_add(broken)
    for path, content in zip(files, kept, strict=True):
        path.write_bytes(content)
    assert sums_add(broken)
    assert stored(system) == expected(given)


def test_a_failure_after_some_rows_were_added_leaves_nothing(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = records(1)
    batch = receive(system, "requests", given["requests"])
    add = sums._add

    def fail(*arguments: Any) -> None:
        if arguments[1] is DelaySum:
            assert RequestedSum.objects.exists()
            raise OSError(5, "the disk failed")
        add(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(sums, "_add", fail)
        with pytest.raises(OSError, match="the disk failed"):
            sums_add(batch)
        assert stored(system) == expected({})
        assert add_sums() == 0
    assert waiting(system) == 1
    assert sums_add(batch)
    assert stored(system) == expected({"requests": given["requests"]})


def test_a_batch_whose_sums_are_too_large_stops_no_other(system: System) -> None:
    row = {"at_s": BEGAN_S, "topic": "t", "broker": "b", "publisher": "p"}
    receive(system, "messages", [{**row, "messages": 1, "bytes": 1 << 32}])
    assert add_sums() == 1
    PublishedSum.objects.update(bytes=(1 << 63) - 10)
    given = records(1)
    full = receive(system, "messages", [{**row, "messages": 1, "bytes": 100}])
    receive(system, "requests", given["requests"])
    assert add_sums() == 1
    full.refresh_from_db()
    assert full.rolled_up_at is None
    assert PublishedSum.objects.get().messages == 1


def test_sums_are_deleted_when_they_were_kept_long_enough(system: System) -> None:
    other = make_system("quay")
    RecordSettings.objects.create(system=system, late_after_s=40 * 86_400, keep_sums_days=30)
    RecordSettings.objects.create(system=other, late_after_s=40 * 86_400, keep_sums_days=400)
    given = records(1)
    old = {
        table: [{**row, "at_s": row["at_s"] - 20 * 86_400} for row in rows]
        for table, rows in given.items()
    }
    for each in (system, other):
        receive_all(each, given, 1)
        receive_all(each, old, 1)
    assert add_sums() == 20
    both = {table: given[table] + old[table] for table in given}
    assert tidy() == 0
    assert stored(system) == expected(both)
    RecordSettings.objects.filter(system=system).update(keep_sums_days=10)
    assert sums_tidy() == sum(map(len, expected(old).values()))
    assert stored(system) == expected(given)
    assert stored(other) == expected(both)


def test_rows_older_than_sums_are_kept_are_left_out(system: System) -> None:
    RecordSettings.objects.create(system=system, late_after_s=40 * 86_400, keep_sums_days=1)
    given = records(1)
    old = [{**row, "at_s": row["at_s"] - 3 * 86_400} for row in given["messages"]]
    receive(system, "messages", given["messages"] + old)
    assert add_sums() == 1
    assert stored(system) == expected({"messages": given["messages"]})
    assert sums_tidy(timezone.now()) == 0


def test_sums_go_with_their_system(system: System) -> None:
    receive_all(system, records(1), 1)
    add_sums()
    system.refresh_from_db()
    system_delete(system=system, actor=None, expected_version=system.version)
    assert not any(model._default_manager.exists() for model in SUMS.values())


def test_each_sum_has_the_columns_of_its_level() -> None:
    assert list(SUMS) == list(minutes().SUMS)
    for name, model in SUMS.items():
        level = minutes().SUMS[name]
        columns = [field.name for field in model._meta.concrete_fields]
        assert sorted(columns) == sorted(["system", "since_s", *level.keys[1:], *level.measures])
        assert (
            [field.name for field in model._meta.pk_fields]
            == [  # type: ignore[attr-defined]
                *("system", "since_s"),
                *level.keys[1:],
            ]
        )


@pytest.mark.django_db(transaction=True)
def test_workers_side_by_side_add_each_batch_once(data: Path) -> None:
    system = make_system()
    given = records(1, 600)
    batches = receive_all(system, given, 8)
    assert sum(at_once(add_sums, add_sums, add_sums, add_sums)) == len(batches)
    assert stored(system) == expected(given)


@pytest.mark.django_db(transaction=True)
def test_one_batch_for_several_workers_is_added_once(data: Path) -> None:
    system = make_system()
    given = records(1)
    batch = receive(system, "deliveries", given["deliveries"])
    outcomes = at_once(*[lambda: sums_add(batch)] * 4)
    assert sorted(outcomes) == [False, False, False, True]
    assert stored(system) == expected({"deliveries": given["deliveries"]})


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_somebody_has_locked_is_left_for_the_next_pass(data: Path) -> None:
    system = make_system()
    batch = receive(system, "messages", records(1)["messages"])
    with transaction.atomic():
        RecordBatch.objects.select_for_update().get(pk=batch.pk)
        assert at_once(add_sums) == [0]
    assert add_sums() == 1


@pytest.mark.django_db(transaction=True)
def test_tidying_waits_for_nobody_who_adds(data: Path) -> None:
    system = make_system()
    receive_all(system, records(1), 1)
    add_sums()
    later = timezone.now() + timedelta(days=1000)
    count = sum(map(len, stored(system).values()))
    with transaction.atomic():
        assert PublishedSum.objects.select_for_update().first() is not None
        assert at_once(lambda: sums_tidy(later)) == [count - 1]
    assert sums_tidy(later) == 1


def _database() -> str:
    row = connection.settings_dict
    user, password, name = (quote(str(row[key]), safe="") for key in ("USER", "PASSWORD", "NAME"))
    return f"postgres://{user}:{password}@{row['HOST']}:{row['PORT']}/{name}"


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_killed_within_a_batch_adds_nothing_of_it(data: Path) -> None:
    system = make_system()
    given = records(1)
    receive_all(system, given, 2)

    def worker(*options: str) -> int:
        command = [sys.executable, "-m", "tests.apps.pipeline.sums_worker", *options]
        place = {"DATABASE_URL": _database(), "WEIR_DATA_DIR": str(data)}
        return subprocess.run(
            command, cwd=ROOT, env={**os.environ, **place}, timeout=PATIENCE_S, check=False
        ).returncode

    # It dies over the second batch, when all its rows were added and it was not marked yet.
    assert worker("die") == -signal.SIGKILL
    assert waiting(system) == 9
    first = {"messages": given["messages"][0::2]}
    assert stored(system) == expected(first)
    assert worker() == 0
    assert waiting(system) == 0
    assert stored(system) == expected(given)
