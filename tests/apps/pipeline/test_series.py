"""Sums of records as series: the figures are those of loops over the rows that were stored."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.pipeline.domain.quantities import QUANTITIES, metric_unit
from apps.pipeline.domain.steps import MOST_STEPS, USUAL_STEPS, usual_step_s
from apps.pipeline.models import (
    SUMS,
    DelaySum,
    MeasuredSum,
    PublishedSum,
    ReceivedSum,
    RequestedSum,
)
from apps.systems.models import System
from tests.conftest import client_of
from tests.factories import make_system, make_user
from weir.queueing.delay_histograms import percentiles_s
from weir.queueing.wait_histogram import bin_of, upper_edge_s

BEGAN_S = 1_795_953_600
MINUTES = 47
END_S = BEGAN_S + MINUTES * 60
TOPICS = ("t1", "t2", "Füße", "it's 100 %s")
CLASSES = ("gold", "public", "")
BROKERS = ("b1", "b2", "")
Row = Mapping[str, Any]


def text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


@pytest.fixture
def system(db: None) -> System:
    return make_system()


@pytest.fixture
def api(db: None) -> APIClient:
    return client_of(make_user("vera", Role.VIEWER))


def store(system: System, seed: int) -> None:
    """Store random sums, with minutes of which there are none."""
    chance = np.random.default_rng(seed)
    rows: dict[type[Any], list[Any]] = defaultdict(list)

    def some() -> bool:
        return bool(chance.random() < 0.5)

    def many() -> int:
        return int(chance.geometric(0.05))

    for minute in range(MINUTES):
        if minute % 7 == 3 or 20 <= minute < 26:
            continue
        at: dict[str, Any] = {"system": system, "since_s": BEGAN_S + 60 * minute}
        for topic in TOPICS:
            for broker in filter(lambda _: some(), BROKERS):
                here: dict[str, Any] = {**at, "topic": topic, "broker": broker}
                rows[PublishedSum].append(PublishedSum(**here, messages=many(), bytes=1))
                for group in filter(lambda _: some(), CLASSES):
                    here["consumer_class"] = group
                    rows[ReceivedSum].append(ReceivedSum(**here, messages=many(), bytes=1))
                    lost = many()
                    rows[RequestedSum].append(
                        RequestedSum(**here, messages=lost + many(), unanswered=lost, bytes=1)
                    )
            for group in CLASSES:
                for kind in ("delivery", "answer", "gate"):
                    for delay_s in chance.lognormal(-5, 2, size=4):
                        bin_ = bin_of(float(delay_s))
                        rows[DelaySum].append(
                            DelaySum(
                                **at,
                                topic=topic,
                                kind=kind,
                                consumer_class=group,
                                bin=bin_,
                                messages=many(),
                                longest_s=float(delay_s),
                            )
                        )
        for broker in BROKERS:
            for topic, group, metric in (
                *(("", "", "cpu_ratio"), ("t1", "", "cpu_ratio"), ("t1", "", "backlog")),
                *(("t2", "", "backlog"), ("t2", "gold", "admitted"), ("t2", "public", "admitted")),
            ):
                values = chance.normal(0, 10, size=3)
                rows[MeasuredSum].append(
                    MeasuredSum(
                        **at,
                        broker=broker,
                        topic=topic,
                        consumer_class=group,
                        metric=metric,
                        samples=3,
                        total=sum(Decimal(value).quantize(Decimal("1e-9")) for value in values),
                        least=float(min(values)),
                        most=float(max(values)),
                    )
                )
    for model, each in rows.items():
        unique = {
            tuple(getattr(row, field) for field in row._meta.pk.field_names): row for row in each
        }
        model.objects.bulk_create(unique.values())


def level(row: Row) -> int:
    """Return of how many of a topic and a class a row is."""
    return bool(row["topic"]) + bool(row["consumer_class"])


def rows_of(system: System, sums: str, only: Row) -> list[dict[str, Any]]:
    all_rows: Iterable[Any] = SUMS[sums]._default_manager.filter(system=system).values()
    return [
        row
        for row in all_rows
        if BEGAN_S <= row["since_s"] < END_S and all(row[name] == only[name] for name in only)
    ]


def minutes_of(system: System, sums: str, step_s: int) -> list[int]:
    """Return of each step how many minutes have rows."""
    minutes = {row["since_s"] for row in rows_of(system, sums, {})}
    return [
        sum(start_s <= minute < start_s + step_s for minute in minutes)
        for start_s in range(BEGAN_S, END_S, step_s)
    ]


def expected(
    system: System, name: str, *, by: str, step_s: int, only: Row
) -> dict[str, list[float | None]]:
    """Compute a value for each group and step by loops over rows."""
    quantity = QUANTITIES[name]
    steps = range(BEGAN_S, END_S, step_s)
    rows = rows_of(system, quantity.sums, only)
    if quantity.sums == "measured":
        rows = [row for row in rows if by in ("broker", "system") or row[by]]
        lowest = min(map(level, rows))
        rows = [row for row in rows if level(row) == lowest]
    minutes = minutes_of(system, quantity.sums, step_s)
    groups = {system.name if by == "system" else row[by] for row in rows}
    answer: dict[str, list[float | None]] = {}
    for group in groups:
        of_group = rows if by == "system" else [row for row in rows if row[by] == group]
        values = []
        for start_s, known in zip(steps, minutes, strict=True):
            inside = [row for row in of_group if start_s <= row["since_s"] < start_s + step_s]
            values.append(value_of(name, inside, known))
        answer[group] = values
    return answer


def value_of(name: str, rows: list[dict[str, Any]], minutes: int) -> float | None:
    quantity = QUANTITIES[name]
    if name.endswith("ed_per_s"):
        return sum(row["messages"] for row in rows) / (60 * minutes) if minutes else None
    if not rows:
        return None
    if name == "measured":
        return float(sum(row["total"] for row in rows)) / sum(row["samples"] for row in rows)
    if name == "measured_sum":
        whole = sum(row["total"] / row["samples"] for row in rows)
        return float(whole) / len({row["since_s"] for row in rows})
    if name == "unanswered_ratio":
        return sum(row["unanswered"] for row in rows) / sum(row["messages"] for row in rows)
    longest_s = max(row["longest_s"] for row in rows)
    if quantity.probability is None:
        return float(longest_s)
    # Every message for itself, in order of its bin.
    ordered = sorted(bin_ for row in rows for bin_ in [row["bin"]] * row["messages"])
    late = math.floor(round((1 - quantity.probability) * len(ordered), 6))
    return min(upper_edge_s(ordered[len(ordered) - 1 - late]), float(longest_s))


def ask(api: APIClient, system: System, quantity: str, **more: Any) -> Any:
    span = {"since": text(BEGAN_S), "until": text(END_S)}
    query = {"system": str(system.public_id), "quantity": quantity, **span, **more}
    return api.get("/api/v1/record-sums", query)


def series(answer: Any) -> dict[str, list[float | None]]:
    assert answer.status_code == 200, answer.content
    return {each["name"]: each["values"] for each in answer.json()["series"]}


def close(values: Any) -> Any:
    return {
        name: [None if each is None else pytest.approx(each, rel=1e-12) for each in of_group]
        for name, of_group in values.items()
    }


CASES = [
    *((name, {}) for name in QUANTITIES if QUANTITIES[name].sums != "measured"),
    *((name, {"by": "system"}) for name in QUANTITIES if QUANTITIES[name].sums != "measured"),
    ("published_per_s", {"by": "broker"}),
    ("published_per_s", {"by": "broker", "topic": "it's 100 %s"}),
    ("received_per_s", {"by": "consumer_class", "broker": ""}),
    ("requested_per_s", {"by": "broker", "consumer_class": "gold", "topic": "Füße"}),
    ("unanswered_ratio", {"by": "consumer_class", "consumer_class": ""}),
    ("delay_p99_s", {"kind": "answer", "by": "consumer_class"}),
    ("delay_p50_s", {"kind": "gate", "consumer_class": "public"}),
    ("measured", {"metric": "cpu_ratio"}),
    ("measured", {"metric": "cpu_ratio", "by": "topic"}),
    ("measured", {"metric": "cpu_ratio", "topic": "t1"}),
    ("measured", {"metric": "cpu_ratio", "topic": "", "by": "system"}),
    ("measured", {"metric": "backlog", "by": "topic", "broker": "b2"}),
    ("measured", {"metric": "backlog"}),
    ("measured", {"metric": "admitted", "by": "consumer_class"}),
    ("measured_sum", {"metric": "cpu_ratio", "by": "system"}),
    ("measured_sum", {"metric": "cpu_ratio", "by": "topic"}),
    ("measured_sum", {"metric": "backlog", "by": "system", "broker": "b2"}),
    ("measured_sum", {"metric": "admitted", "by": "consumer_class"}),
]


@pytest.mark.parametrize("step_s", [60, 1260])
@pytest.mark.parametrize(("quantity", "given"), CASES)
def test_series_are_those_of_loops_over_all_rows(
    api: APIClient, system: System, quantity: str, given: dict[str, str], step_s: int
) -> None:
    store(system, seed=step_s)
    store(make_system("other"), seed=1)
    answer = ask(api, system, quantity, step_s=step_s, **given)
    only = {name: value for name, value in given.items() if name != "by"}
    if quantity.startswith("delay_"):
        only.setdefault("kind", "delivery")
    by = given.get("by", QUANTITIES[quantity].by[0])
    wanted = expected(system, quantity, by=by, step_s=step_s, only=only)
    assert series(answer) == close(wanted)
    assert wanted
    body = answer.json()
    starts_s = range(BEGAN_S, END_S, step_s)
    assert body["steps"] == [text(start_s) for start_s in starts_s]
    assert body["minutes"] == minutes_of(system, QUANTITIES[quantity].sums, step_s)
    assert (body["left_out"], body["by"], body["step_s"]) == (0, by, step_s)


@pytest.mark.parametrize("probability", [0.5, 0.95, 0.99])
def test_percentiles_are_those_of_merged_histograms(
    api: APIClient, system: System, probability: float
) -> None:
    """Whatever the bins, down to one message and at ranks that are whole numbers."""
    chance = np.random.default_rng(5)
    wanted = []
    for minute in range(MINUTES):
        bins = np.sort(chance.choice(np.arange(-479, 200), size=1 + minute % 9, replace=False))
        messages = chance.choice([1, 19, 50, 100, 10**9], size=len(bins))
        longest_s = [upper_edge_s(int(each)) * 0.99 for each in bins]
        for bin_, number, longest in zip(bins, messages, longest_s, strict=True):
            DelaySum.objects.create(
                system=system,
                since_s=BEGAN_S + 60 * minute,
                topic="t",
                kind="delivery",
                consumer_class="",
                bin=int(bin_),
                messages=int(number),
                longest_s=longest,
            )
        merged = percentiles_s(
            np.array([0]), bins, messages, np.array([max(longest_s)]), probability
        )
        wanted.append(float(merged[0]))
    answer = ask(api, system, f"delay_p{round(probability * 100)}_s", step_s=60)
    assert series(answer) == close({"t": wanted})


def test_the_mean_of_a_metric_has_its_least_and_greatest_sample(
    api: APIClient, system: System
) -> None:
    store(system, seed=3)
    body = ask(api, system, "measured", metric="cpu_ratio", step_s=600).json()
    assert body["unit"] == "ratio"
    for each in body["series"]:
        rows = rows_of(
            system, "measured", {"broker": each["name"], "metric": "cpu_ratio", "topic": ""}
        )
        for start, least, most in zip(body["steps"], each["least"], each["most"], strict=True):
            start_s = datetime.fromisoformat(start).timestamp()
            inside = [row for row in rows if start_s <= row["since_s"] < start_s + 600]
            assert least == min((row["least"] for row in inside), default=None)
            assert most == max((row["most"] for row in inside), default=None)
    rates = ask(api, system, "published_per_s").json()["series"]
    assert {(each["least"], each["most"]) for each in rates} == {(None, None)}


def test_a_group_without_messages_has_a_rate_of_0_only_where_others_have_one(
    api: APIClient, system: System
) -> None:
    def published(minute: int, topic: str) -> None:
        PublishedSum.objects.create(
            system=system,
            since_s=BEGAN_S + 60 * minute,
            topic=topic,
            broker="",
            messages=60,
            bytes=0,
        )

    published(0, "a")
    published(2, "b")
    published(4, "a")
    answer = ask(api, system, "published_per_s", step_s=60, until=text(BEGAN_S + 300))
    assert series(answer) == {"a": [1.0, None, 0.0, None, 1.0], "b": [0.0, None, 1.0, None, 0.0]}
    # Of five minutes three were measured.
    answer = ask(api, system, "published_per_s", step_s=300)
    assert series(answer)["a"] == [120 / 180, *[None] * 9]
    # What is narrowed to nothing has no series, and minutes all the same.
    answer = ask(api, system, "published_per_s", step_s=300, topic="c")
    assert series(answer) == {}
    assert answer.json()["minutes"] == [3, *[0] * 9]


def test_the_largest_series_come_and_the_others_are_counted(api: APIClient, system: System) -> None:
    PublishedSum.objects.bulk_create(
        PublishedSum(
            system=system,
            since_s=BEGAN_S + 60 * (number % 3),
            topic=f"t{number:02}",
            broker="",
            messages=number // 2 + 1,
            bytes=0,
        )
        for number in range(40)
    )
    body = ask(api, system, "published_per_s").json()
    order = sorted(range(40), key=lambda number: (-(number // 2), number))
    assert [each["name"] for each in body["series"]] == [f"t{each:02}" for each in order[:12]]
    assert body["left_out"] == 28


def test_of_metrics_those_with_the_largest_mean_come(api: APIClient, system: System) -> None:
    MeasuredSum.objects.bulk_create(
        MeasuredSum(
            system=system,
            since_s=BEGAN_S,
            broker=f"b{number:02}",
            topic="",
            consumer_class="",
            metric="depth",
            samples=20 - number,
            total=(20 - number) * number,
            least=0,
            most=number,
        )
        for number in range(20)
    )
    body = ask(api, system, "measured", metric="depth").json()
    assert [each["name"] for each in body["series"]] == [f"b{each:02}" for each in range(19, 7, -1)]
    assert (body["left_out"], body["unit"]) == (8, "")


def test_a_system_without_sums_has_no_series(api: APIClient, system: System) -> None:
    for quantity in QUANTITIES:
        more = {"metric": "cpu_ratio"} if quantity.startswith("measured") else {}
        body = ask(api, system, quantity, **more).json()
        assert (body["series"], body["left_out"]) == ([], 0)
        assert set(body["minutes"]) == {0}


def test_usual_steps_are_few_and_round() -> None:
    for minutes in range(1, 30 * 1440 + 1):
        step_s = usual_step_s(minutes * 60)
        assert step_s % 60 == 0
        assert math.ceil(minutes * 60 / step_s) <= USUAL_STEPS
    hours = {hours: usual_step_s(hours * 3600) for hours in (1, 6, 24, 7 * 24, 30 * 24)}
    assert hours == {1: 60, 6: 120, 24: 600, 168: 3600, 720: 10_800}


def test_without_a_time_the_last_hour_comes(api: APIClient, system: System) -> None:
    query = {"system": str(system.public_id), "quantity": "published_per_s"}
    body = api.get("/api/v1/record-sums", query).json()
    since, until = (datetime.fromisoformat(body[name]) for name in ("since", "until"))
    assert (until - since).total_seconds() == 3600
    assert 0 < (until - datetime.now(UTC)).total_seconds() + 60 < 120
    assert len(body["steps"]) == 60


DAY = 86_400
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"quantity": "published"}, "quantity"),
    ({"since": text(END_S)}, "since"),
    ({"since": text(END_S + 60)}, "since"),
    ({"since": text(END_S - 30 * DAY - 60), "step_s": DAY}, "since"),
    ({"since": text(BEGAN_S + 1)}, "since"),
    ({"since": "2026-11-29T00:00:00.5Z"}, "since"),
    ({"since": "1969-12-31T23:59:00Z"}, "since"),
    ({"since": "yesterday"}, "since"),
    ({"until": text(END_S - 30)}, "until"),
    ({"until": "1970-01-01T00:00:00Z"}, "since"),
    ({"until": "0001-01-01T00:00:00+12:00"}, "until"),
    ({"step_s": 90}, "step_s"),
    ({"step_s": 0}, "step_s"),
    ({"step_s": DAY + 60}, "step_s"),
    ({"since": text(END_S - (MOST_STEPS + 1) * 60), "step_s": 60}, "step_s"),
    ({"by": "kind"}, "by"),
    ({"by": "consumer_class"}, "by"),
    ({"consumer_class": "gold"}, "consumer_class"),
    ({"kind": "delivery"}, "kind"),
    ({"quantity": "delay_p99_s", "kind": "deliveries"}, "kind"),
    ({"metric": "cpu_ratio"}, "metric"),
    ({"quantity": "delay_p50_s", "broker": "b1"}, "broker"),
    ({"quantity": "delay_p50_s", "by": "broker"}, "by"),
    ({"quantity": "measured"}, "metric"),
    ({"quantity": "measured", "metric": "cpu_ratio", "kind": "gate"}, "kind"),
    ({"topic": "a\0b"}, "topic"),
    ({"topic": "x" * 201}, "topic"),
    ({"topics": "t1"}, "topics"),
]


@pytest.mark.parametrize(("given", "field"), REFUSED)
def test_what_does_not_fit_is_refused_at_its_field(
    api: APIClient, system: System, given: dict[str, Any], field: str
) -> None:
    answer = ask(api, system, **{"quantity": "published_per_s", **given})
    assert answer.status_code == 400, answer.content
    assert [each["field"] for each in answer.json()["errors"]] == [field]


def test_the_bounds_themselves_are_taken(api: APIClient, system: System) -> None:
    for more, steps in (
        ({"since": text(END_S - 30 * DAY)}, USUAL_STEPS),
        ({"since": text(END_S - MOST_STEPS * 60), "step_s": 60}, MOST_STEPS),
        ({"since": text(END_S - 60)}, 1),
        ({"since": text(END_S - 60), "step_s": DAY}, 1),
    ):
        body = ask(api, system, "published_per_s", **more).json()
        assert len(body["steps"]) == steps


@pytest.mark.parametrize("by_format", [True, False])
def test_csv_has_the_same_numbers(api: APIClient, system: System, by_format: bool) -> None:
    store(system, seed=2)
    PublishedSum.objects.create(
        system=system, since_s=BEGAN_S, topic="=1+1", broker="", messages=10**6, bytes=0
    )
    body = ask(api, system, "published_per_s", step_s=600).json()
    if by_format:
        answer = ask(api, system, "published_per_s", step_s=600, format="csv")
    else:
        query = {"since": text(BEGAN_S), "until": text(END_S), "step_s": 600}
        answer = api.get(
            "/api/v1/record-sums",
            {"system": str(system.public_id), "quantity": "published_per_s", **query},
            headers={"accept": "text/csv"},
        )
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="published_per_s.csv"' in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))
    assert rows == [
        {
            "since": start,
            "minutes": str(minutes),
            "name": f"'{each['name']}" if each["name"] == "=1+1" else each["name"],
            "value": "" if value is None else repr(value),
            **{"least": "", "most": ""},
        }
        for each in body["series"]
        for start, minutes, value in zip(
            body["steps"], body["minutes"], each["values"], strict=True
        )
    ]
    refused = ask(api, system, "published", format="csv")
    assert refused.status_code == 400
    assert refused["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("name", "accept", "media_type"),
    [
        ("json", "text/csv", "application/json"),
        ("csv", "application/json", "text/csv; charset=utf-8"),
        ("csv", "image/png", "text/csv; charset=utf-8"),
    ],
)
def test_a_format_that_is_named_wins(
    api: APIClient, system: System, name: str, accept: str, media_type: str
) -> None:
    query = {"system": str(system.public_id), "quantity": "published_per_s", "format": name}
    answer = api.get("/api/v1/record-sums", query, headers={"accept": accept})
    assert (answer.status_code, answer["Content-Type"]) == (200, media_type)


def test_a_format_that_there_is_not_is_refused_by_name(api: APIClient, system: System) -> None:
    for address, forms in (("record-sums", "json or csv"), ("slo-compliance", "json")):
        query = {"system": str(system.public_id), "format": "xml"}
        refused = api.get(f"/api/v1/{address}", query)
        assert refused.status_code == 400
        assert refused["Content-Type"] == "application/problem+json"
        assert refused.json()["errors"] == [{"field": "format", "message": f"Must be {forms}."}]


def test_names_are_those_of_the_time_and_system(api: APIClient, system: System) -> None:
    store(system, seed=4)
    PublishedSum.objects.create(
        system=system, since_s=END_S, topic="later", broker="", messages=1, bytes=0
    )
    other = make_system("other")
    PublishedSum.objects.create(
        system=other, since_s=BEGAN_S, topic="elsewhere", broker="", messages=1, bytes=0
    )
    query = {"system": str(system.public_id), "since": text(BEGAN_S), "until": text(END_S)}
    body = api.get("/api/v1/record-metrics", query).json()
    assert body == {
        "since": text(BEGAN_S),
        "until": text(END_S),
        "first": text(BEGAN_S),
        "last": text(END_S),
        "topics": {"names": sorted(TOPICS), "left_out": 0},
        "consumer_classes": {"names": ["gold", "public"], "left_out": 0},
        "brokers": {"names": ["b1", "b2"], "left_out": 0},
        "kinds": ["answer", "delivery", "gate"],
        "metrics": [
            {"name": "admitted", "unit": "consumers"},
            {"name": "backlog", "unit": "messages"},
            {"name": "cpu_ratio", "unit": "ratio"},
        ],
        "metrics_left_out": 0,
    }
    empty = api.get("/api/v1/record-metrics", {"system": str(make_system("new").public_id)}).json()
    assert (empty["first"], empty["last"], empty["metrics"]) == (None, None, [])
    assert empty["topics"] == {"names": [], "left_out": 0}


def test_at_most_a_thousand_names_come(api: APIClient, system: System) -> None:
    PublishedSum.objects.bulk_create(
        PublishedSum(
            system=system, since_s=BEGAN_S, topic=f"t{number:04}", broker="", messages=1, bytes=0
        )
        for number in range(1003)
    )
    query = {"system": str(system.public_id), "since": text(BEGAN_S), "until": text(END_S)}
    topics = api.get("/api/v1/record-metrics", query).json()["topics"]
    assert topics == {"names": [f"t{each:04}" for each in range(1000)], "left_out": 3}


def test_metrics_have_units_by_their_names() -> None:
    units = {
        **{"memory_bytes": "bytes", "network_bytes_per_s": "bytes/s", "connections": "connections"},
        **{"backlog_peak": "messages", "message_bytes": "bytes", "in_bytes_per_s": "bytes/s"},
        **{"in_msgs_per_s": "msg/s", "offered_per_s": "msg/s", "logins_per_s": "1/s"},
        **{"pause_s": "s", "disk_ratio": "ratio", "temperature": "", "my_msgs_per_s": "msg/s"},
    }
    assert {name: metric_unit(name) for name in units} == units
