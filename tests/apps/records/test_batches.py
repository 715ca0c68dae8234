"""Batches of records over the API: each counts once, and no row is lost without a word."""

import gzip
import io
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import pyarrow as pa
import pytest
from django.db import connection
from django.utils import timezone
from pyarrow import parquet
from pyarrow.fs import LocalFileSystem

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.records.models import RecordBatch, SetAsideRow
from apps.records.services import records_tidy
from apps.systems.services import system_delete
from tests.apps.records.files import folder_of, kept
from tests.conftest import client_of
from tests.factories import make_system, make_user

ROW = {"topic": "fx", "publisher": "feed"}


def now_s() -> float:
    return timezone.now().timestamp()


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def send(api, system, body, *, table="messages", batch="", media_type="application/x-ndjson"):
    address = f"/api/v1/record-batches?system={system.public_id}&table={table}"
    return api.post(f"{address}&batch={batch}", body, content_type=media_type)


def replayed(taken: int, *, set_aside: int = 0, left: int = 0, amended: Any = ()) -> Any:
    return {"taken": taken, "set_aside": set_aside, "left": left, "amended": list(amended)}


def replay(api, system, **more):
    body = {"system": str(system.public_id), **more}
    return api.post("/api/v1/set-aside-records/replay", body, format="json")


def test_rows_that_fit_are_kept_and_the_others_shown_with_their_problem(api, harbour):
    good = {**ROW, "at_s": now_s()}
    answer = send(api, harbour, lines(good, {**ROW, "at_s": 0}, {**good, "messages": 0}))
    assert answer.status_code == 201
    batch = answer.json()
    assert answer["Location"] == f"/api/v1/record-batches/{batch['id']}"
    assert (batch["rows"], batch["accepted"], batch["waiting"]) == (3, 1, 2)
    assert batch["since_s"] == batch["until_s"] == good["at_s"]
    assert api.get(answer["Location"]).json() == batch
    assert kept(harbour) == [{**good, "broker": "", "messages": 1, "bytes": 0}]
    aside = api.get(f"/api/v1/set-aside-records?batch={batch['id']}").json()["results"]
    assert [(row["row"], row["problem"], row["state"]) for row in aside] == [
        (1, "at_s: late, more than 86,400 s before it arrived", "waiting"),
        (2, "messages: below 1", "waiting"),
    ]
    assert json.loads(aside[1]["content"]) == {**good, "messages": 0}
    counts = api.get(f"/api/v1/record-counts?system={harbour.public_id}").json()
    (table,) = counts["tables"]
    assert (table["rows"], table["accepted"], table["batches"], table["to_roll_up"]) == (3, 1, 1, 1)
    assert [(row["problem"], row["rows"]) for row in counts["waiting"]] == [
        ("at_s: late, more than 86,400 s before it arrived", 1),
        ("messages: below 1", 1),
    ]


def test_a_batch_that_is_sent_again_counts_once(api, harbour):
    body = lines({**ROW, "at_s": now_s()})
    first = send(api, harbour, body, batch="a-1")
    again = send(api, harbour, body, batch="a-1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert again.json()["repeats"] == 1
    other = send(api, harbour, lines({**ROW, "at_s": now_s()}), batch="a-1")
    assert other.status_code == 409
    assert other.json()["code"] == "batch_differs"
    assert len(kept(harbour)) == 1
    # Without a name the bytes are the name, for each table and system by itself.
    quay = make_system("quay")
    assert send(api, harbour, body).status_code == 201
    assert send(api, harbour, body).status_code == 200
    assert send(api, quay, body).status_code == 201
    assert (len(kept(harbour)), len(kept(quay))) == (2, 1)


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_is_sent_twice_at_once_counts_once(harbour):
    editor = make_user("collector", Role.EDITOR)
    body = lines(*({**ROW, "at_s": now_s(), "bytes": n} for n in range(100)))
    together = threading.Barrier(4, timeout=60)

    def one(_: int) -> int:
        api = client_of(editor)
        together.wait()
        try:
            return send(api, harbour, body).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(one, range(4)))
    assert statuses == [200, 200, 200, 201]
    assert len(kept(harbour)) == 100
    assert RecordBatch.objects.get().repeats == 3


@pytest.mark.django_db(transaction=True)
def test_who_dies_before_the_batch_is_stored_leaves_what_the_repeat_writes_over(harbour):
    """The commit never comes: files are there, the batch is not."""
    editor = make_user("collector", Role.EDITOR)
    body = lines({**ROW, "at_s": now_s()}, {**ROW, "at_s": 0})
    with (
        patch("apps.records.services.batches._publish", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        send(client_of(editor), harbour, body)
    assert not RecordBatch.objects.exists()
    assert not SetAsideRow.objects.exists()
    assert len(kept(harbour)) == 1
    assert send(client_of(editor), harbour, body).status_code == 201
    assert len(kept(harbour)) == 1


@pytest.mark.parametrize(
    ("query", "body", "media_type", "status", "field"),
    [
        ("table=prices", b"{}\n", "application/x-ndjson", 400, "table"),
        ("table=messages&batch=" + "x" * 201, b"{}\n", "application/x-ndjson", 400, "batch"),
        ("table=messages", b"", "application/x-ndjson", 400, ""),
        ("table=messages", b"\n", "application/x-ndjson", 400, "rows"),
        ("table=messages", b"at_s,topic\n", "text/csv", 400, "publisher"),
        ("table=messages", b"PAR1", "application/vnd.apache.parquet", 400, "rows"),
        ("table=messages", b"{}", "application/json", 415, ""),
        ("table=messages&nmae=x", b"{}\n", "application/x-ndjson", 400, "nmae"),
    ],
)
def test_what_is_no_batch_is_refused_and_nothing_is_stored(
    api, harbour, query, body, media_type, status, field
):
    address = f"/api/v1/record-batches?system={harbour.public_id}&{query}"
    answer = api.post(address, body, content_type=media_type)
    assert answer.status_code == status, answer.content
    errors = answer.json().get("errors") or [{"field": ""}]
    assert errors[0]["field"] == field
    assert not RecordBatch.objects.exists()


def test_late_rows_are_taken_after_all_and_count_in_a_batch_of_their_own(api, harbour):
    rows = [{**ROW, "at_s": 1000.0 + n} for n in range(3)]
    send(api, harbour, lines(*rows[:2], {**ROW, "at_s": "soon"}), batch="a")
    send(api, harbour, lines(rows[2], {**ROW, "at_s": now_s()}), batch="b")
    late = api.get(f"/api/v1/record-counts?system={harbour.public_id}").json()["waiting"][0]
    assert late["rows"] == 3
    answer = replay(api, harbour, problem=late["problem"], reason="The collector was away.")
    assert answer.json() == replayed(3)
    assert sorted(row["at_s"] for row in kept(harbour))[:3] == [1000.0, 1001.0, 1002.0]
    batches = api.get(f"/api/v1/record-batches?system={harbour.public_id}").json()["results"]
    assert [(batch["rows"], batch["taken_later"], batch["waiting"]) for batch in batches] == [
        (1, 0, 0),
        (2, 0, 0),
        (2, 1, 0),
        (3, 2, 1),
    ]
    assert batches[0]["replay_of"] == batches[2]["id"]
    taken = api.get("/api/v1/set-aside-records?state=taken").json()["results"]
    assert {row["taken_in"] for row in taken} == {batches[0]["id"], batches[1]["id"]}
    again = replay(api, harbour, problem=late["problem"])
    assert (again.status_code, again.json()["code"]) == (409, "nothing_waits")
    entry = AuditEntry.objects.get(object_kind="record_batch")
    assert (entry.action, entry.reason) == ("replay", "The collector was away.")
    # What counts is what fitted, once: the counts of the table say the same.
    (table,) = api.get(f"/api/v1/record-counts?system={harbour.public_id}").json()["tables"]
    assert (table["rows"], table["accepted"]) == (5, 4)


def test_a_row_is_amended_or_stays_as_it_was_sent(api, harbour):
    batch = send(api, harbour, lines({**ROW, "at_s": "soon"}, {**ROW, "at_s": "then"})).json()
    one = {"batch": batch["id"], "rows": [0]}
    wrong = replay(api, harbour, **one, amended=[{"row": 0, "content": "{"}])
    amended = [{"batch": batch["id"], "batch_name": batch["name"], "row": 0}]
    assert wrong.json() == replayed(
        0, set_aside=1, amended=[{**amended[0], "problem": "is not JSON"}]
    )
    row = SetAsideRow.objects.get(row=0)
    assert json.loads(bytes(row.content)) == {**ROW, "at_s": "soon"}
    assert row.problem == "at_s: must be Unix seconds or a time by ISO 8601"
    mended = json.dumps({**ROW, "at_s": 7})
    right = replay(api, harbour, **one, amended=[{"row": 0, "content": mended}])
    assert right.json() == replayed(1)
    assert [row["at_s"] for row in kept(harbour)] == [7.0]
    assert api.get(f"/api/v1/record-batches/{batch['id']}").json()["waiting"] == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rows": [0], "amended": [1]}, "Row 1 of the batch does not wait, or was not chosen."),
        ({"amended": [7]}, "Row 7 of the batch does not wait, or was not chosen."),
        ({"amended": [0, 0]}, "Row 0 stands here twice."),
    ],
)
def test_only_rows_that_are_chosen_are_amended_each_once(api, harbour, more, words):
    batch = send(api, harbour, lines({**ROW, "at_s": 1}, {**ROW, "at_s": 2})).json()
    content = json.dumps({**ROW, "at_s": 3})
    amended = [{"row": row, "content": content} for row in more["amended"]]
    answer = replay(api, harbour, batch=batch["id"], **{**more, "amended": amended})
    (error,) = answer.json()["errors"]
    assert (error["field"], error["message"]) == ("amended", words)
    assert kept(harbour) == []


def test_what_is_not_whole_waits_until_it_is_amended(api, harbour):
    late = json.dumps({**ROW, "at_s": 5}).encode()
    long = send(api, harbour, late + b" " * 70_000 + b"and more\n", batch="long").json()
    table = b"at_s,topic,publisher\n5,eur,usd,desk-1\n"
    shifted = send(api, harbour, table, media_type="text/csv", batch="shifted").json()
    rows = api.get(f"/api/v1/set-aside-records?batch={shifted['id']}").json()["results"]
    assert [json.loads(row["content"]) for row in rows] == [["5", "eur", "usd", "desk-1"]]
    broken = pa.table({"at_s": [5.0], "topic": [b"\xff"], "publisher": ["p"]})
    broken = broken.set_column(1, "topic", broken["topic"].cast(pa.string(), safe=False))
    out = io.BytesIO()
    parquet.write_table(broken, out)
    send(api, harbour, out.getvalue(), media_type="application/vnd.apache.parquet", batch="utf")
    assert replay(api, harbour).json() == replayed(0, set_aside=3)
    assert not SetAsideRow.objects.filter(whole=True).exists()
    amended = [{"row": 0, "content": late.decode()}]
    for batch in (long, shifted):
        assert replay(api, harbour, batch=batch["id"], amended=amended).json() == replayed(1)
    assert len(kept(harbour)) == 2


def test_names_that_weir_gives_are_nobody_elses(api, harbour):
    for name in ("weir:agents/2026-11-30T00:19Z", "a\u202eb"):
        answer = send(api, harbour, lines({**ROW, "at_s": now_s()}), batch=quote(name))
        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["batch"]


def test_a_packed_body_is_refused(api, harbour):
    address = f"/api/v1/record-batches?system={harbour.public_id}&table=messages"
    body = gzip.compress(lines({**ROW, "at_s": now_s()}))
    answer = api.post(
        address, body, content_type="application/x-ndjson", HTTP_CONTENT_ENCODING="gzip"
    )
    assert answer.status_code == 415
    assert not RecordBatch.objects.exists()


def test_a_replay_of_too_many_days_takes_what_fits_into_one_batch_and_goes_on(api, harbour):
    days = [{**ROW, "at_s": 86_400 * day + 5} for day in range(1003)]
    send(api, harbour, lines({**ROW, "at_s": 3}), batch="before")
    send(api, harbour, lines(*days), batch="many")
    assert replay(api, harbour).json() == replayed(1001, set_aside=3)
    waiting = SetAsideRow.objects.filter(ended_at=None).order_by()
    (problem,) = waiting.values_list("problem").distinct()
    assert problem == ("at_s: the batch is of more than 1,000 days",)
    assert replay(api, harbour).json() == replayed(3)
    assert sorted(row["at_s"] for row in kept(harbour)) == [
        3.0,
        *(86_400.0 * day + 5 for day in range(1003)),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_replay_that_cannot_be_written_leaves_nothing_and_is_given_again(harbour):
    editor = client_of(make_user("collector", Role.EDITOR))
    rows = [{**ROW, "at_s": 86_400 * day} for day in range(3)]
    for batch in ("a", "b"):
        send(editor, harbour, lines(*rows), batch=batch)
    in_the_way = folder_of(harbour) / "messages" / "date=1970-01-02"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("not a folder")
    answer = replay(editor, harbour)
    assert (answer.status_code, answer.json()["code"]) == (503, "records_not_written")
    assert kept(harbour) == []
    assert SetAsideRow.objects.filter(ended_at=None).count() == 6
    in_the_way.unlink()
    # Fewer rows than the attempt that failed had.
    first = RecordBatch.objects.get(name="a")
    assert replay(editor, harbour, batch=str(first.public_id), rows=[2]).json() == replayed(1)
    assert replay(editor, harbour).json() == replayed(5)
    assert len(kept(harbour)) == 6


@pytest.mark.django_db(transaction=True)
def test_rows_of_one_batch_are_replayed_side_by_side_each_once(harbour):
    editor = make_user("collector", Role.EDITOR)
    rows = [{**ROW, "at_s": 60 * place} for place in range(60)]
    batch = send(client_of(editor), harbour, lines(*rows)).json()
    together = threading.Barrier(4, timeout=60)

    def some(at: int) -> int:
        api = client_of(editor)
        together.wait()
        try:
            mine = list(range(at * 10, at * 10 + 20))
            answer = replay(api, harbour, batch=batch["id"], rows=mine)
            return answer.json()["taken"] if answer.status_code == 200 else 0
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(some, range(4))) == 50
    assert sorted(row["at_s"] for row in kept(harbour)) == [60.0 * place for place in range(50)]


@pytest.mark.django_db(transaction=True)
def test_a_system_is_deleted_while_records_arrive(harbour):
    editor = client_of(make_user("collector", Role.EDITOR))
    stop = threading.Event()

    def arrive(_: int) -> set[int]:
        try:
            statuses = set()
            while not stop.is_set() and statuses <= {201}:
                body = lines({**ROW, "at_s": now_s()})
                statuses.add(send(editor, harbour, body).status_code)
            return statuses
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        arriving = pool.map(arrive, range(3))
        try:
            while RecordBatch.objects.count() < 5:
                connection.close()
            system_delete(system=harbour, actor=None, expected_version=harbour.version)
        finally:
            stop.set()
        assert set().union(*arriving) <= {201, 400}
    assert not RecordBatch.objects.exists()


def test_rows_are_discarded_and_shown_as_such(api, harbour):
    batch = send(api, harbour, lines({**ROW, "at_s": 0}, {**ROW, "at_s": None})).json()
    body = {"system": str(harbour.public_id), "batch": batch["id"], "rows": [1]}
    answer = api.post("/api/v1/set-aside-records/discard", body, format="json")
    assert answer.json() == {"discarded": 1, "left": 0}
    rows = api.get(f"/api/v1/set-aside-records?batch={batch['id']}").json()["results"]
    assert [row["state"] for row in rows] == ["waiting", "discarded"]
    assert kept(harbour) == []
    assert replay(api, harbour, table="messages").json() == replayed(1)
    rows = api.get(f"/api/v1/set-aside-records?batch={batch['id']}").json()["results"]
    assert [row["state"] for row in rows] == ["taken", "discarded"]


def test_one_call_takes_so_many_rows_and_says_how_many_are_left(api, harbour):
    send(api, harbour, lines(*({**ROW, "at_s": n} for n in range(5))))
    with patch("apps.records.services.batches.MOST_AT_ONCE", 3):
        assert replay(api, harbour).json() == replayed(3, left=2)
        assert replay(api, harbour).json() == replayed(2)
    assert sorted(row["at_s"] for row in kept(harbour)) == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"rows": [0]}, "rows"),
        ({"amended": [{"row": 0, "content": "{}"}]}, "amended"),
        ({"batch": "00000000-0000-4000-8000-000000000000"}, "batch"),
        ({"table": "prices"}, "table"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_choice_that_says_nothing_is_refused(api, harbour, more, field):
    answer = replay(api, harbour, **more)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_settings_say_what_is_late(api, harbour):
    listed = api.get(f"/api/v1/record-settings?system={harbour.public_id}").json()["results"][0]
    assert (listed["late_after_s"], listed["keep_records_days"], listed["keep_sums_days"]) == (
        *(86_400, 30, 400),
    )
    address = f"/api/v1/record-settings/{listed['id']}"
    change = {"late_after_s": 60, "reason": "Only what is fresh."}
    saved = api.patch(address, change, format="json", HTTP_IF_MATCH=f'"{listed["version"]}"')
    assert saved.json()["late_after_s"] == 60
    batch = send(api, harbour, lines({**ROW, "at_s": now_s() - 120})).json()
    assert (batch["accepted"], batch["waiting"]) == (0, 1)
    for wrong in (0, 366 * 86_400 + 1):
        answer = api.patch(
            address, {"late_after_s": wrong}, format="json", HTTP_IF_MATCH=saved["ETag"]
        )
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "late_after_s"


def test_batches_are_deleted_with_their_files_when_they_were_kept_long_enough(api, harbour):
    old = send(api, harbour, lines({**ROW, "at_s": now_s(), "bytes": 1}, {**ROW})).json()
    new = send(api, harbour, lines({**ROW, "at_s": now_s(), "bytes": 2})).json()
    waits = send(api, harbour, lines({**ROW, "at_s": now_s(), "bytes": 3})).json()
    long_ago = timezone.now() - timedelta(days=31)
    rows = RecordBatch.objects.filter(public_id__in=[old["id"], waits["id"]])
    rows.update(created_at=long_ago)
    # What is not in the sums yet is kept however old it is.
    rows.exclude(public_id=waits["id"]).update(rolled_up_at=long_ago)
    folder = folder_of(harbour)
    for file in folder.rglob("*.parquet"):
        os.utime(file, (1000.0, 1000.0))
    assert records_tidy() == 1
    left = {str(batch.public_id) for batch in RecordBatch.objects.all()}
    assert left == {new["id"], waits["id"]}
    assert not SetAsideRow.objects.exists()
    assert sorted(row["bytes"] for row in kept(harbour)) == [2, 3]


def test_the_files_of_a_system_that_was_deleted_go(api, harbour):
    quay = make_system("quay")
    for system in (harbour, quay):
        send(api, system, lines({**ROW, "at_s": now_s()}))
    gone, stays = folder_of(quay), folder_of(harbour)
    system_delete(system=quay, actor=None, expected_version=quay.version)
    records_tidy()
    assert gone.exists()
    for file in gone.rglob("*.parquet"):
        os.utime(file, (1000.0, 1000.0))
    records_tidy()
    assert not gone.exists()
    assert len(list(stays.rglob("*.parquet"))) == 1


def test_a_disk_that_takes_nothing_leaves_no_batch(api, harbour):
    folder = folder_of(harbour)
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    body = lines({**ROW, "at_s": now_s()})
    answer = send(api, harbour, body)
    assert (answer.status_code, answer.json()["code"]) == (503, "records_not_written")
    assert not RecordBatch.objects.exists()
    folder.unlink()
    assert send(api, harbour, body).status_code == 201
    assert LocalFileSystem().get_file_info(str(folder)).type.name == "Directory"
