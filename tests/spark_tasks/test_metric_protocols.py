"""Metrics as Prometheus and OpenTelemetry send them, read as rows of samples."""

import json
import math
import random
from typing import Any

import pytest

from spark_tasks import metric_protocols as protocols
from spark_tasks.packed_metrics import GZIP, MOST_PARTS, PLAIN, SNAPPY, TooLong, unpacked
from spark_tasks.sent_records import MOST_ROWS, check_batch
from tests.metric_bodies import (
    CUMULATIVE,
    DELTA,
    STALE,
    export,
    fixed,
    gauge,
    histogram,
    inside,
    nanos,
    point,
    real,
    sample,
    series,
    snappy,
    summary,
    total,
    varint,
    whole,
    zipped,
)
from weir.errors import InvalidProblem

AT_S = 1795953600.25
MIB = 2**20


def read(body: bytes, kind: str) -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    """The rows that fit, without what is empty in them, and the problems of the others."""
    rows = protocols.metric_rows(body, kind)
    checked = check_batch(rows, "samples", now_s=AT_S, late_after_s=86_400.0)
    taken = [
        {name: value for name, value in row.items() if value != ""}
        for row in checked.rows.to_pylist()
    ]
    return taken, [(each.row, each.problem) for each in checked.set_aside]


def test_series_of_prometheus_become_samples_of_a_broker() -> None:
    body = b"".join(
        [
            series({"__name__": "cpu", "instance": "ny-1:7777"}, sample(0.5, AT_S)),
            series(
                {
                    **{"__name__": "lag", "instance": "exporter:9100", "broker": "ny-2"},
                    **{"topic": "fx", "consumer_class": "gold", "job": "weir"},
                },
                sample(3.0, AT_S - 1),
                sample(4.0, AT_S),
            ),
        ]
    )
    taken, aside = read(body, protocols.PROMETHEUS)
    lag = {"broker": "ny-2", "topic": "fx", "consumer_class": "gold", "metric": "lag"}
    assert aside == []
    assert taken == [
        {"at_s": AT_S, "broker": "ny-1:7777", "metric": "cpu", "value": 0.5},
        {"at_s": AT_S - 1, **lag, "value": 3.0},
        {"at_s": AT_S, **lag, "value": 4.0},
    ]


def test_series_that_have_no_mean_are_set_aside_row_by_row() -> None:
    names = ["a_total", "a_count", "a_sum", "a_bucket"]
    bodies = [
        series({"__name__": name, "instance": "b"}, sample(1.0, AT_S), sample(2.0, AT_S))
        for name in names
    ]
    bodies += [
        series({"__name__": "a", "instance": "b", "quantile": "0.9"}, sample(1.0, AT_S)),
        # TimeSeries {4: Histogram}, Histogram {3: sum, 15: timestamp}
        series(
            {"__name__": "h", "instance": "b"},
            inside(4, whole(1, 3) + real(3, 0.5) + whole(15, round(AT_S * 1000))),
            inside(4, real(3, STALE) + whole(15, round(AT_S * 1000))),
        ),
        series({"__name__": "total", "instance": "b"}, sample(7.0, AT_S)),
    ]
    taken, aside = read(b"".join(bodies), protocols.PROMETHEUS)
    assert [row["value"] for row in taken] == [7.0]
    counts = [(row, protocols.SERIES_COUNTS) for row in range(8)]
    assert aside == [*counts, (8, protocols.SERIES_IS_QUANTILE), (9, protocols.HISTOGRAM)]


def test_a_row_of_a_counter_is_shown_as_it_was_and_fits_only_once_it_is_amended() -> None:
    body = series({"__name__": "a_total", "instance": "b", "topic": "é"}, sample(5.0, AT_S))
    (aside,) = protocols.metric_rows(body, protocols.PROMETHEUS).unread
    assert json.loads(aside.content) == {
        **{"at_s": AT_S, "broker": "b", "topic": "é", "metric": "a_total", "value": 5.0}
    }
    assert not aside.whole


def test_stale_markers_are_left_out_and_other_values_without_a_mean_set_aside() -> None:
    values = [STALE, math.nan, math.inf, -math.inf, 1e16, 1.0]
    labels = {"__name__": "cpu", "instance": "b"}
    body = series(labels, *(sample(value, AT_S) for value in values))
    taken, aside = read(body, protocols.PROMETHEUS)
    assert [row["value"] for row in taken] == [1.0]
    assert aside == [
        *((row, "value: not finite") for row in range(3)),
        (3, "value: above 1,000,000,000,000,000"),
    ]


@pytest.mark.parametrize(
    ("labels", "at_s", "problem"),
    [
        ({"__name__": "cpu"}, AT_S, "broker: empty"),
        ({"instance": "b"}, AT_S, "metric: empty"),
        ({"__name__": "m" * 65, "instance": "b"}, AT_S, "metric: longer than 64 characters"),
        ({"__name__": "m", "instance": "b" * 201}, AT_S, "broker: longer than 200 characters"),
        ({"__name__": "m", "instance": "b\n"}, AT_S, "broker: holds a character that cannot be"),
        ({"__name__": "m", "instance": "b"}, AT_S - 86_401, "at_s: late, more than 86,400 s"),
        ({"__name__": "m", "instance": "b"}, AT_S + 301, "at_s: more than 300 s ahead"),
        ({"__name__": "m", "instance": "b"}, 2.0**52, "at_s: beyond the year 5000"),
    ],
)
def test_samples_that_do_not_fit_are_set_aside_as_those_of_any_batch(labels, at_s, problem) -> None:
    taken, aside = read(series(labels, sample(1.0, at_s)), protocols.PROMETHEUS)
    assert taken == []
    assert [text.startswith(problem) for _, text in aside] == [True]


def test_a_text_that_is_too_long_is_kept_only_so_far_that_it_is_refused() -> None:
    body = series({"__name__": "m", "instance": "b" * MIB}, sample(1.0, AT_S), sample(2.0, AT_S))
    rows = protocols.metric_rows(body, protocols.PROMETHEUS)
    content, whole_row = rows.content(1)
    assert len(content) < 300
    assert not whole_row


def test_gauges_of_otlp_become_samples_of_what_their_attributes_name() -> None:
    resource = {"host.name": "host-1", "service.instance.id": "nats-1", "messaging.destination": 1}
    body = export(
        resource,
        gauge("cpu", point(0.5, AT_S)),
        gauge("depth", point(7, AT_S, of={"broker": "ny-1", "topic": "fx", "consumer_class": "g"})),
        gauge(
            "lag",
            point(
                1.0,
                AT_S,
                of={
                    "messaging.destination.name": "eq",
                    "messaging.consumer.group.name": "all",
                    "service.instance.id": 12,
                },
            ),
        ),
    )
    body += export({"host.name": "h", "server.address": "s"}, gauge("cpu", point(2.0, AT_S)))
    body += export({"host.name": "h"}, gauge("cpu", point(3.0, AT_S)))
    taken, aside = read(body, protocols.OTLP)
    assert aside == []
    at = {"at_s": AT_S}
    assert taken == [
        {**at, "broker": "nats-1", "metric": "cpu", "value": 0.5},
        {**at, **{"broker": "ny-1", "topic": "fx", "consumer_class": "g"}}
        | {"metric": "depth", "value": 7.0},
        {**at, **{"broker": "12", "topic": "eq", "consumer_class": "all"}}
        | {"metric": "lag", "value": 1.0},
        {**at, "broker": "s", "metric": "cpu", "value": 2.0},
        {**at, "broker": "h", "metric": "cpu", "value": 3.0},
    ]


def test_sums_of_otlp_are_rates_levels_or_set_aside_by_what_they_say_of_themselves() -> None:
    since = {"since_s": AT_S - 10}
    body = export(
        {"broker": "b"},
        total("sent", point(50, AT_S, **since), temporality=DELTA),
        total("held", point(-5.0, AT_S, **since), temporality=DELTA, monotonic=False),
        total("open", point(9, AT_S, **since), temporality=CUMULATIVE, monotonic=False),
        total("sent", point(99, AT_S, **since), temporality=CUMULATIVE),
        total("odd", point(1, AT_S, **since), temporality=0),
        total("late", point(1, AT_S), temporality=DELTA),
        total("turned", point(1, AT_S, since_s=AT_S + 1), temporality=DELTA),
    )
    taken, aside = read(body, protocols.OTLP)
    assert [(row["metric"], row["value"]) for row in taken] == [
        ("sent_per_s", 5.0),
        ("held_per_s", -0.5),
        ("open", 9.0),
    ]
    assert aside == [
        (3, protocols.SUM_COUNTS),
        (4, protocols.SUM_IS_UNKNOWN),
        (5, protocols.NO_INTERVAL),
        (6, protocols.NO_INTERVAL),
    ]


def test_histograms_and_summaries_of_otlp_are_set_aside_and_points_without_a_value_left_out():
    body = export(
        {"broker": "b"},
        histogram("delay", AT_S),
        summary("delay", AT_S),
        gauge("cpu", point(None, AT_S, flags=1), point(None, AT_S), point(math.nan, AT_S)),
        inside(2, inside(1, "nothing")),
    )
    taken, aside = read(body, protocols.OTLP)
    assert taken == []
    assert aside == [
        (0, protocols.HISTOGRAM),
        (1, protocols.SUMMARY),
        (2, "value: null"),
        (3, "value: not finite"),
    ]


def test_a_moment_of_otlp_stays_in_its_second() -> None:
    body = export({"broker": "b"}, inside(2, inside(1, "m") + inside(5, inside(1, NEARLY))))
    ((row,), _) = read(body, protocols.OTLP)
    assert int(row["at_s"]) == 1795953599


NEARLY = fixed(3, 1795953599_999999999) + real(4, 1.0)


def test_exports_in_json_are_read_as_those_in_binary() -> None:
    at, since = str(nanos(AT_S)), str(nanos(AT_S - 10))
    named = [{"key": "broker", "value": {"stringValue": "b"}}]
    metrics = [
        {"name": "cpu", "gauge": {"dataPoints": [{"timeUnixNano": at, "asDouble": 0.5}]}},
        {
            "name": "sent",
            "sum": {
                "aggregationTemporality": 1,
                "isMonotonic": True,
                "dataPoints": [{"timeUnixNano": at, "startTimeUnixNano": since, "asInt": "50"}],
            },
            "ofTomorrow": {"x": [1]},
        },
    ]
    request: dict[str, Any] = {"resourceMetrics": [{"resource": {"attributes": named}}]}
    request["resourceMetrics"][0]["scopeMetrics"] = [{"metrics": metrics}]
    binary = export(
        {"broker": "b"},
        gauge("cpu", point(0.5, AT_S)),
        total("sent", point(50, AT_S, since_s=AT_S - 10), temporality=DELTA),
    )
    assert read(json.dumps(request).encode(), protocols.OTLP_JSON) == read(binary, protocols.OTLP)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        b'{"resourceMetrics": 1}',
        b'{"resourceMetrics": [null]}',
        b"\xff",
        b"[" * 5000,
        b'{"resourceMetrics":' * 5000,
        b'{"resourceMetrics": [{"resource": {"attributes": [{"key": "\\ud800"}]}}]}',
        b"[" + b"{}," * MOST_PARTS + b"{}]",
    ],
)
def test_json_that_is_no_export_is_refused(body) -> None:
    with pytest.raises(InvalidProblem):
        protocols.metric_rows(body, protocols.OTLP_JSON)


@pytest.mark.parametrize("kind", [protocols.PROMETHEUS, protocols.OTLP])
def test_nothing_is_no_rows_and_what_is_unknown_is_passed_over(kind) -> None:
    # Field 3 of Prometheus is metadata, which it sends by itself.
    for body in (b"", inside(3, inside(2, "m")), whole(19, 1), varint(20 << 3 | 5) + b"abcd"):
        assert len(protocols.metric_rows(body, kind)) == 0


LABELLED = series({"__name__": "m", "instance": "b"}, sample(1.0, AT_S))


@pytest.mark.parametrize(
    "body",
    [
        LABELLED[:-1],
        b"\x0a",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x80" * 20,
        # A group, a type that is none, a series that is a number, a value that is a whole number.
        b"\x0b\x0c",
        b"\x0f",
        whole(1, 7),
        inside(1, inside(2, whole(1, 7))),
        inside(1, inside(1, inside(1, b"\xff"))),
        inside(1, whole(1, 1)),
        b"not a message",
    ],
)
@pytest.mark.parametrize("kind", [protocols.PROMETHEUS])
def test_bytes_that_are_no_message_are_refused(body, kind) -> None:
    with pytest.raises(InvalidProblem):
        protocols.metric_rows(body, kind)


def test_whatever_is_changed_in_a_body_is_read_or_refused() -> None:
    dice = random.Random(11)
    whole_bodies = {
        protocols.PROMETHEUS: LABELLED * 3,
        protocols.OTLP: export(
            {"broker": "b"}, gauge("cpu", point(0.5, AT_S)), histogram("h", AT_S)
        ),
    }
    refused = 0
    for kind, body in whole_bodies.items():
        for _ in range(2000):
            changed = bytearray(body)
            for _ in range(dice.randint(1, 4)):
                changed[dice.randrange(len(changed))] = dice.randrange(256)
            try:
                read(bytes(changed), kind)
            except InvalidProblem:
                refused += 1
    assert 0 < refused < 4000


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (protocols.PROMETHEUS, b"\x0a\x00" * (MOST_PARTS + 1)),
        (protocols.PROMETHEUS, inside(1, b"\x0a\x00" * MOST_PARTS)),
        (protocols.OTLP, export({"broker": "b"}, inside(2, inside(5, b"\x0a\x00" * MOST_PARTS)))),
        # EntityRef {3: id_keys}, of Resource {3: entity_refs}
        (protocols.OTLP, inside(1, inside(1, inside(3, b"\x1a\x00" * MOST_PARTS)))),
        # Buckets {2: bucket_counts}, of a point of an exponential histogram
        (
            protocols.OTLP,
            export({}, inside(2, inside(10, inside(1, inside(8, inside(2, b"\0" * 2**25)))))),
        ),
    ],
)
def test_parts_that_take_far_more_memory_than_bytes_are_refused_unread(kind, body) -> None:
    with pytest.raises(InvalidProblem, match="more than 1,000,000 parts"):
        protocols.metric_rows(body, kind)


def test_attributes_inside_one_another_are_refused_at_some_depth() -> None:
    value = inside(1, "x")
    for _ in range(100):
        value = inside(5, inside(1, value))  # an AnyValue of an ArrayValue of one
    body = inside(1, inside(1, inside(1, inside(1, "broker") + inside(2, value))))
    with pytest.raises(InvalidProblem, match="inside one another"):
        protocols.metric_rows(body, protocols.OTLP)


def test_a_batch_has_as_many_samples_as_any_other_and_no_longer_texts() -> None:
    one = sample(1.0, AT_S)
    labels = {"__name__": "m", "instance": "b"}
    most = series(labels, one * MOST_ROWS)
    assert len(protocols.metric_rows(most, protocols.PROMETHEUS)) == MOST_ROWS
    with pytest.raises(InvalidProblem, match="at most 100,000 rows"):
        protocols.metric_rows(most + series(labels, one), protocols.PROMETHEUS)
    long = {name: "\U0001f600" * 200 for name in ("instance", "topic", "consumer_class")}
    with pytest.raises(InvalidProblem, match="longer than 128 MiB"):
        protocols.metric_rows(series({"__name__": "m", **long}, one * 60_000), protocols.PROMETHEUS)


@pytest.mark.parametrize("packing", [PLAIN, SNAPPY, GZIP])
def test_a_body_is_unpacked_as_it_was(packing) -> None:
    pack = {PLAIN: bytes, SNAPPY: snappy, GZIP: zipped}[packing]
    for body in (b"", b"x", LABELLED * 1000):
        assert unpacked(pack(body), packing, MIB) == body


@pytest.mark.parametrize(
    ("packing", "body"),
    [
        (SNAPPY, snappy(bytes(MIB + 1))),
        (SNAPPY, b"\xff\xff\xff\xff\x0f"),
        (SNAPPY, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        (GZIP, zipped(bytes(MIB + 1))),
        (GZIP, zipped(bytes(200 * MIB))),
    ],
)
def test_a_body_that_would_grow_too_large_is_refused(packing, body) -> None:
    with pytest.raises(TooLong, match="more than 1 MiB"):
        unpacked(body, packing, MIB)


@pytest.mark.parametrize(
    ("packing", "body"),
    [
        (SNAPPY, b""),
        (SNAPPY, b"\xff"),
        (SNAPPY, snappy(LABELLED)[:-1]),
        (SNAPPY, snappy(LABELLED) + b"x"),
        (SNAPPY, b"\xff\x06\x00\x00sNaPpY"),
        (SNAPPY, zipped(LABELLED)),
        (GZIP, b""),
        (GZIP, zipped(LABELLED)[:-1]),
        (GZIP, zipped(LABELLED) + b"x"),
        (GZIP, zipped(b"") * 2),
        (GZIP, LABELLED),
    ],
)
def test_a_body_that_is_packed_otherwise_is_refused(packing, body) -> None:
    with pytest.raises(InvalidProblem):
        unpacked(body, packing, MIB)


def test_answers_of_otlp_are_encoded_by_its_field_numbers() -> None:
    assert protocols.export_answer({}) == b""
    partial = {"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "late"}}
    assert protocols.export_answer(partial) == inside(1, whole(1, 3) + inside(2, "late"))
    assert protocols.refusal("No.") == inside(2, "No.")
