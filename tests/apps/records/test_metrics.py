"""Metrics over the API, as Prometheus and OpenTelemetry's collector send them."""

import json
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import ApiToken
from apps.accounts.services import token_digest
from apps.records.models import RecordBatch, SetAsideRow
from tests.apps.records.files import kept
from tests.conftest import client_of
from tests.factories import make_user
from tests.metric_bodies import (
    CUMULATIVE,
    STALE,
    export,
    gauge,
    inside,
    point,
    sample,
    series,
    snappy,
    total,
    whole,
    zipped,
)

PROTOBUF = "application/x-protobuf"
CPU = {"__name__": "cpu_ratio", "instance": "ny-1"}


def now_s() -> float:
    return timezone.now().timestamp()


def write(api, system, body, *, content_type=PROTOBUF, packing="snappy", **headers):
    address = f"/api/v1/record-batches/prometheus?system={system.public_id}"
    return api.post(
        address,
        body,
        content_type=content_type,
        headers={"Content-Encoding": packing, "User-Agent": "Prometheus/3", **headers},
    )


def exported(api, system, body, *, content_type=PROTOBUF, **headers):
    address = f"/api/v1/record-batches/otlp/v1/metrics?system={system.public_id}"
    return api.post(address, body, content_type=content_type, headers=headers)


def row(at_s: float, metric: str, value: float, broker: str = "ny-1") -> dict[str, Any]:
    named = {"broker": broker, "topic": "", "consumer_class": "", "metric": metric}
    return {"at_s": pytest.approx(at_s, abs=1e-3), **named, "value": value}


def test_what_prometheus_writes_is_a_batch_of_samples_that_counts_once(harbour):
    token = "weir_collector"
    ApiToken.objects.create(
        name="collector",
        owner=make_user("collector", Role.EDITOR),
        roles=[Role.EDITOR.value],
        digest=token_digest(token),
    )
    api = client_of(None)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    at_s = now_s()
    counter = series({**CPU, "__name__": "messages_total"}, sample(7.0, at_s), sample(8.0, at_s))
    body = snappy(series(CPU, sample(0.5, at_s), sample(STALE, at_s)) + counter)
    for _ in range(2):
        answer = write(api, harbour, body, **{"X-Prometheus-Remote-Write-Version": "0.1.0"})
        assert (answer.status_code, answer.content) == (204, b"")
    batch = RecordBatch.objects.get()
    assert (batch.table, batch.rows, batch.accepted, batch.repeats) == ("samples", 3, 1, 1)
    assert batch.name == batch.sha256
    assert batch.sent_by.username == "collector"
    assert kept(harbour) == [row(at_s, "cpu_ratio", 0.5)]
    counts = api.get(f"/api/v1/record-counts?system={harbour.public_id}").json()
    assert [(each["problem"], each["rows"]) for each in counts["waiting"]] == [
        ("metric: counts since its start; send its rate, by a recording rule", 2)
    ]


def test_late_samples_are_taken_after_all_and_counters_are_not(api, harbour):
    late = series(CPU, sample(0.25, 1000.0)) + series(
        {**CPU, "__name__": "a_total"}, sample(1.0, now_s())
    )
    assert write(api, harbour, snappy(late)).status_code == 204
    body = {"system": str(harbour.public_id)}
    answer = api.post("/api/v1/set-aside-records/replay", body, format="json").json()
    assert (answer["taken"], answer["set_aside"]) == (1, 1)
    assert kept(harbour) == [row(1000.0, "cpu_ratio", 0.25)]


@pytest.mark.parametrize("body", [b"", inside(3, inside(2, "cpu_ratio")), b"stale"])
def test_what_holds_no_samples_is_fine_and_no_batch(api, harbour, body):
    if body == b"stale":
        body = series(CPU, sample(STALE, now_s()))
    assert write(api, harbour, snappy(body)).status_code == 204
    address = f"/api/v1/record-batches/otlp/v1/metrics?system={harbour.public_id}"
    answer = api.post(address, b"", content_type=PROTOBUF, CONTENT_LENGTH="0")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["Content-Type"] == PROTOBUF
    assert not RecordBatch.objects.exists()


@pytest.mark.parametrize(
    ("body", "content_type", "packing", "status"),
    [
        (b"", PROTOBUF, "snappy", 400),
        (b"\xff", PROTOBUF, "snappy", 400),
        (snappy(series(CPU, sample(1.0, 1.0)))[:-2], PROTOBUF, "snappy", 400),
        (snappy(b"\x0a\x05abc"), PROTOBUF, "snappy", 400),
        (snappy(whole(1, 7)), PROTOBUF, "snappy", 400),
        (snappy(bytes(32 * 2**20 + 1)), PROTOBUF, "snappy", 413),
        (snappy(series(CPU, sample(1.0, 1.0) * 100_001)), PROTOBUF, "snappy", 400),
        (snappy(series(CPU, sample(1.0, 1.0))), PROTOBUF, "gzip", 415),
        (series(CPU, sample(1.0, 1.0)), PROTOBUF, "", 415),
        (snappy(b""), f"{PROTOBUF};proto=io.prometheus.write.v2.Request", "snappy", 415),
        (b"{}", "application/json", "", 415),
    ],
)
def test_what_prometheus_must_not_send_again_is_refused(
    api, harbour, body, content_type, packing, status
):
    answer = write(api, harbour, body, content_type=content_type, packing=packing)
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert not RecordBatch.objects.exists()


def test_the_message_of_remote_write_one_may_be_named(api, harbour):
    content_type = f"{PROTOBUF};proto=prometheus.WriteRequest"
    body = snappy(series(CPU, sample(1.0, now_s())))
    assert write(api, harbour, body, content_type=content_type).status_code == 204
    assert RecordBatch.objects.get().accepted == 1


def test_an_export_that_fits_is_answered_by_an_empty_message(api, harbour):
    at_s = now_s()
    body = export({"service.instance.id": "ny-1"}, gauge("cpu_ratio", point(0.5, at_s)))
    for packed, more in [(body, {}), (zipped(body), {"Content-Encoding": "gzip"})]:
        answer = exported(api, harbour, packed, **more, Accept="application/x-protobuf")
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer["Content-Type"] == PROTOBUF
    # However it is packed, it is the same batch.
    assert RecordBatch.objects.get().repeats == 1
    assert kept(harbour) == [row(at_s, "cpu_ratio", 0.5)]


def test_an_export_with_rows_that_are_set_aside_is_a_partial_success(api, harbour):
    at_s = now_s()
    body = export(
        {"host.name": "ny-1"},
        gauge("cpu_ratio", point(0.5, at_s), point(0.5, 1000.0)),
        total("sent", point(1, at_s), point(2, at_s), temporality=CUMULATIVE),
    )
    words = (
        "Set aside, until somebody decides on the page Records: 2 points: metric: counts since its "
        "start; use the temporality delta, or cumulativetodelta; 1 points: at_s: late, more than "
        "86,400 s before it arrived."
    )
    for _ in range(2):
        answer = exported(api, harbour, body)
        assert answer.status_code == 200
        # ExportMetricsServiceResponse {1: partial_success {1: rejected_data_points, 2: error_...}}
        assert answer.content == inside(1, whole(1, 3) + inside(2, words))
    assert SetAsideRow.objects.count() == 3


def test_an_export_in_json_is_answered_in_json(api, harbour):
    at_s = now_s()
    resource = {"attributes": [{"key": "broker", "value": {"stringValue": "ny-1"}}]}
    points = [
        {"timeUnixNano": str(int(at_s * 1e9)), "asDouble": 0.5},
        {"timeUnixNano": "1000", "asInt": "3"},
    ]
    metrics = [{"name": "cpu_ratio", "gauge": {"dataPoints": points}}]
    body = {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": metrics}]}]}
    answer = exported(api, harbour, json.dumps(body), content_type="application/json")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer.json()["partialSuccess"]["rejectedDataPoints"] == "1"
    assert kept(harbour) == [row(at_s, "cpu_ratio", 0.5)]
    empty = exported(api, harbour, "{}", content_type="application/json")
    assert (empty.status_code, empty.json()) == (200, {})


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"\x0a\x05abc", {}, 400),
        (zipped(b"\x0a\x00")[:-1], {"Content-Encoding": "gzip"}, 400),
        (zipped(bytes(64 * 2**20)), {"Content-Encoding": "gzip"}, 413),
        (b"x", {"Content-Encoding": "zstd"}, 415),
    ],
)
def test_a_refusal_in_binary_is_a_status_with_words(api, harbour, body, headers, status):
    answer = exported(api, harbour, body, **headers)
    assert answer.status_code == status
    assert answer["Content-Type"] == PROTOBUF
    # Status {2: message}
    assert answer.content[:1] == b"\x12"
    assert answer.content[2:].decode().isprintable()
    assert not RecordBatch.objects.exists()


def test_an_export_of_nobody_is_refused_in_its_encoding(harbour):
    answer = exported(client_of(None), harbour, export({}, gauge("m", point(1.0, now_s()))))
    assert (answer.status_code, answer["Content-Type"]) == (401, PROTOBUF)
    assert answer["WWW-Authenticate"]


def test_an_export_under_a_key_is_answered_as_before(api, harbour):
    body = export({"broker": "b"}, gauge("m", point(1.0, 1000.0)))
    first, again = (exported(api, harbour, body, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert again["Idempotency-Replayed"] == "true"
    assert first.content == again.content != b""
    assert RecordBatch.objects.get().repeats == 0


def test_metrics_that_cannot_be_written_now_are_sent_again_later(api, harbour, settings, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    settings.WEIR_DATA_DIR = str(in_the_way / "data")
    at_s = now_s()
    answers = [
        write(api, harbour, snappy(series(CPU, sample(1.0, at_s)))),
        exported(api, harbour, export({"broker": "b"}, gauge("m", point(1.0, at_s)))),
    ]
    for answer in answers:
        assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert not RecordBatch.objects.exists()


def test_a_body_without_its_length_is_no_empty_export(api, harbour):
    address = f"/api/v1/record-batches/otlp/v1/metrics?system={harbour.public_id}"
    body = export({"broker": "b"}, gauge("m", point(1.0, now_s())))
    answer = api.post(address, body, content_type=PROTOBUF, CONTENT_LENGTH="")
    assert answer.status_code == 400


def test_metrics_of_no_system_or_with_a_misspelt_parameter_are_refused(api, harbour):
    for query in ("", "?system=x", f"?system={harbour.public_id}&sytem=x"):
        for path in ("prometheus", "otlp/v1/metrics"):
            answer = api.post(
                f"/api/v1/record-batches/{path}{query}",
                snappy(b"") if path == "prometheus" else b"",
                content_type=PROTOBUF,
                headers={"Content-Encoding": "snappy"} if path == "prometheus" else {},
            )
            assert answer.status_code == 400, (query, path)
