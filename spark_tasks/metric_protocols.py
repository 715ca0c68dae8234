"""Read metrics as Prometheus and OpenTelemetry send them, as rows of samples (docs/formats.md)."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2

from spark_tasks.packed_metrics import MOST_PARTS, read_message
from spark_tasks.sent_records import (
    MOST_BYTES,
    MOST_CHARACTERS,
    SentRows,
    SetAside,
    check_number,
    schema_of,
)
from weir.errors import InvalidProblem

PROMETHEUS = "application/x-protobuf;proto=prometheus.WriteRequest"
OTLP = "application/x-protobuf;proto=otlp.metrics"
OTLP_JSON = "application/json;proto=otlp.metrics"

STALE = struct.pack("<Q", 0x7FF0000000000002)
"""The value by which Prometheus says that a series has ended."""
NO_VALUE = metrics_pb2.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
CUMULATIVE = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
DELTA = metrics_pb2.AGGREGATION_TEMPORALITY_DELTA
COUNTED = ("_total", "_count", "_sum", "_bucket")
"""How names of Prometheus end that count since a start."""
PER_S = "_per_s"

SERIES_COUNTS = "metric: counts since its start; send its rate, by a recording rule"
SERIES_IS_QUANTILE = "metric: a quantile of a summary, which has no mean; leave it out"
SUM_COUNTS = "metric: counts since its start; use the temporality delta, or cumulativetodelta"
SUM_IS_UNKNOWN = "metric: a sum without its temporality; set delta or cumulative"
HISTOGRAM = "metric: a histogram, which is not read yet; send a gauge of what you want to know"
SUMMARY = "metric: a summary, whose quantiles have no mean; send a gauge of one of them"
NO_INTERVAL = "value: a change over no interval; send the start of what it counts"

BROKER_KEYS = ("broker", "service.instance.id", "server.address", "host.name")
TOPIC_KEYS = ("topic", "messaging.destination.name")
CLASS_KEYS = ("consumer_class", "messaging.consumer.group.name")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a series was measured of."""

    broker: str
    topic: str
    consumer_class: str
    metric: str
    size_bytes: int
    """Of these texts."""

    @property
    def is_whole(self) -> bool:
        texts = (self.broker, self.topic, self.consumer_class, self.metric)
        return max(map(len, texts)) <= MOST_CHARACTERS


class _Collected:
    """The rows of a body, while it is read."""

    def __init__(self) -> None:
        self._at_s: list[float] = []
        self._values: list[float | None] = []
        self._sources: list[_Source] = []
        self._places: list[int] = []
        self._unread: list[SetAside] = []
        self._bytes = 0

    def add(self, at_s: float, source: _Source, value: float | None, problem: str = "") -> None:
        """Add a row, or set it aside with its problem. Raises InvalidProblem where they are too
        many or too long."""
        row = len(self._places) + len(self._unread)
        check_number(row + 1)
        self._bytes += source.size_bytes
        if self._bytes > MOST_BYTES:
            limit = MOST_BYTES // 2**20
            raise InvalidProblem("rows", f"their texts are longer than {limit} MiB; split them")
        if problem:
            # It is no row of the table, whatever the clock says when it is looked at again.
            content = _as_json(at_s, source, value)
            self._unread.append(SetAside(row=row, problem=problem, content=content, whole=False))
            return
        self._places.append(row)
        self._at_s.append(at_s)
        self._sources.append(source)
        self._values.append(value)

    def rows(self) -> SentRows:
        sources = self._sources
        columns = {
            "at_s": self._at_s,
            "broker": [source.broker for source in sources],
            "topic": [source.topic for source in sources],
            "consumer_class": [source.consumer_class for source in sources],
            "metric": [source.metric for source in sources],
            "value": self._values,
        }
        return SentRows(
            columns=pa.table(columns, schema=schema_of("samples")),
            places=np.array(self._places, dtype=np.int64),
            content=self._content,
            unread=self._unread,
        )

    def _content(self, number: int) -> tuple[bytes, bool]:
        source = self._sources[number]
        content = _as_json(self._at_s[number], source, self._values[number])
        return content, source.is_whole


def _source(broker: str, topic: str, consumer_class: str, metric: str) -> _Source:
    """Return where a series is from; of a text that is too long only so much that it is refused:
    each of its rows holds it."""
    texts = [text[: MOST_CHARACTERS + 1] for text in (broker, topic, consumer_class, metric)]
    return _Source(
        broker=texts[0],
        topic=texts[1],
        consumer_class=texts[2],
        metric=texts[3],
        size_bytes=len("".join(texts).encode()),
    )


def _as_json(at_s: float, source: _Source, value: float | None) -> bytes:
    row: dict[str, Any] = {"at_s": at_s, "broker": source.broker}
    if source.topic:
        row["topic"] = source.topic
    if source.consumer_class:
        row["consumer_class"] = source.consumer_class
    row |= {"metric": source.metric, "value": value}
    return json.dumps(row, ensure_ascii=False).encode()


def metric_rows(body: bytes, media_type: str) -> SentRows:
    """Return the samples of a body that is unpacked; there may be none. Raises InvalidProblem."""
    collected = _Collected()
    _READERS[media_type](body, collected)
    return collected.rows()


def _messages(package: str, fields: Mapping[str, Sequence[tuple[int, str, str]]]) -> dict[str, Any]:
    """Return classes of messages: of each the number, name and type of its fields; a type in
    capitals is a repeated message."""
    scalars = {"string": 9, "double": 1, "int64": 3, "int32": 5}
    file = descriptor_pb2.FileDescriptorProto(
        name=f"weir/{package}.proto", package=package, syntax="proto3"
    )
    for name, members in fields.items():
        message = file.message_type.add(name=name)
        for number, field, kind in members:
            one = message.field.add(name=field, number=number, label=1)
            if kind in scalars:
                one.type = scalars[kind]
            else:
                one.type, one.type_name, one.label = 11, f".{package}.{kind}", 3
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in fields
    }


WRITE_REQUEST = _messages(
    "weir.prometheus",
    {
        "WriteRequest": [(1, "timeseries", "TimeSeries")],
        "TimeSeries": [
            (1, "labels", "Label"),
            (2, "samples", "Sample"),
            (4, "histograms", "Histogram"),
        ],
        "Label": [(1, "name", "string"), (2, "value", "string")],
        "Sample": [(1, "value", "double"), (2, "timestamp", "int64")],
        "Histogram": [(3, "sum", "double"), (15, "timestamp", "int64")],
    },
)["WriteRequest"]
"""Remote-write 1.0, and the histograms that Prometheus sends in it."""
STATUS = _messages("weir.rpc", {"Status": [(1, "code", "int32"), (2, "message", "string")]})[
    "Status"
]


def _prometheus(body: bytes, collected: _Collected) -> None:
    for series in read_message(WRITE_REQUEST, body).timeseries:
        labels = {label.name: label.value for label in series.labels}
        source = _source(
            labels.get("broker") or labels.get("instance", ""),
            labels.get("topic", ""),
            labels.get("consumer_class", ""),
            labels.get("__name__", ""),
        )
        problem = ""
        if source.metric.endswith(COUNTED):
            problem = SERIES_COUNTS
        elif "quantile" in labels:
            problem = SERIES_IS_QUANTILE
        for sample in series.samples:
            if not _is_stale(sample.value):
                collected.add(sample.timestamp / 1000, source, sample.value, problem)
        for histogram in series.histograms:
            if not _is_stale(histogram.sum):
                collected.add(histogram.timestamp / 1000, source, histogram.sum, HISTOGRAM)


def _is_stale(value: float) -> bool:
    return value != value and struct.pack("<d", value) == STALE


def _otlp(body: bytes, collected: _Collected) -> None:
    _exported(read_message(metrics_service_pb2.ExportMetricsServiceRequest, body), collected)


def _otlp_json(body: bytes, collected: _Collected) -> None:
    if body.count(b"{") + body.count(b"[") > MOST_PARTS:
        message = f"holds more than {MOST_PARTS:,} objects and lists; send fewer at once"
        raise InvalidProblem("body", message)
    request = metrics_service_pb2.ExportMetricsServiceRequest()
    unlike = InvalidProblem("body", "is no ExportMetricsServiceRequest in the JSON of OTLP")
    if body.lstrip()[:1] != b"{":
        raise unlike  # the reader takes an empty list for an empty message
    try:
        json_format.Parse(body, request, ignore_unknown_fields=True)
    except (json_format.ParseError, ValueError):
        raise unlike from None
    _exported(request, collected)


def _exported(request: Any, collected: _Collected) -> None:
    for resource in request.resource_metrics:
        shared = _attributes(resource.resource.attributes)
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                _points(metric, shared, collected)


def _points(metric: Any, shared: Mapping[str, str], collected: _Collected) -> None:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    data = getattr(metric, kind)
    problem, changes = _meaning(kind, data)
    for point in data.data_points:
        if point.flags & NO_VALUE:
            continue
        names = {**shared, **_attributes(point.attributes)}
        name = metric.name[: MOST_CHARACTERS + 1] + (PER_S if changes else "")
        source = _source(
            _first(names, BROKER_KEYS), _first(names, TOPIC_KEYS), _first(names, CLASS_KEYS), name
        )
        value = _value(point) if kind in ("gauge", "sum") else point.sum
        wrong = problem
        if changes and value is not None:
            interval_ns = point.time_unix_nano - point.start_time_unix_nano
            if point.start_time_unix_nano and interval_ns > 0:
                value = value * 1e9 / interval_ns
            else:
                wrong = NO_INTERVAL
        # In whole microseconds: a float of nanoseconds may be in the next second.
        collected.add(point.time_unix_nano // 1000 / 1e6, source, value, wrong)


def _meaning(kind: str, data: Any) -> tuple[str, bool]:
    """Return why no point of a metric is a sample, and whether each is what changed since the one
    before."""
    if kind == "gauge":
        return "", False
    if kind == "summary":
        return SUMMARY, False
    if kind != "sum":
        return HISTOGRAM, False
    if data.aggregation_temporality == DELTA:
        return "", True
    if data.aggregation_temporality != CUMULATIVE:
        return SUM_IS_UNKNOWN, False
    return (SUM_COUNTS if data.is_monotonic else ""), False


def _value(point: Any) -> float | None:
    kind = point.WhichOneof("value")
    return None if kind is None else float(getattr(point, kind))


def _attributes(attributes: Iterable[Any]) -> dict[str, str]:
    """Return the attributes that say where something was measured; a list of values says it of
    none."""
    texts = {}
    for each in attributes:
        if each.key in _KEYS:
            kind = each.value.WhichOneof("value")
            if kind in ("string_value", "int_value"):
                texts[each.key] = str(getattr(each.value, kind))
    return texts


def _first(names: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((names[key] for key in keys if names.get(key)), "")


def export_answer(answer: Mapping[str, Any]) -> bytes:
    """Return an ExportMetricsServiceResponse, encoded, of its form in JSON."""
    response = metrics_service_pb2.ExportMetricsServiceResponse()
    encoded: bytes = json_format.ParseDict(dict(answer), response).SerializeToString()
    return encoded


def refusal(message: str) -> bytes:
    """Return the Status, encoded, by which OTLP refuses a request."""
    encoded: bytes = STATUS(message=message).SerializeToString()
    return encoded


_KEYS = frozenset((*BROKER_KEYS, *TOPIC_KEYS, *CLASS_KEYS))
_READERS: Mapping[str, Callable[[bytes, _Collected], None]] = {
    PROMETHEUS: _prometheus,
    OTLP: _otlp,
    OTLP_JSON: _otlp_json,
}
