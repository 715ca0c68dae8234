"""Imports of interests: what they change, refuse, leave and record."""

import json
import random
from collections import Counter
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.audit.models import AuditEntry
from apps.catalog.api.documentation import REQUESTS, TABLES
from apps.catalog.models import Interest, InterestImportPiece, Subscriber
from apps.catalog.services import import_tables
from apps.catalog.services.import_execute import import_execute
from apps.systems.models import System
from apps.systems.services import entity_update
from tests.factories.interest_imports import (
    carry_out,
    make_catalog,
    pairs_of,
    row_of,
    start,
    table,
)

pytestmark = pytest.mark.django_db(transaction=True)
TOPICS = ("x", "y", "z")
BEFORE = {"a": ["x", "y"], "b": ["z"], "c": []}
COUNTS = (
    *("lines", "repeated", "added", "removed", "unchanged"),
    *("subscribers_changed", "subscribers_created", "error_count"),
)


@pytest.fixture
def system(transactional_db: None) -> System:
    return make_catalog(BEFORE, TOPICS)


def before() -> set[tuple[str, str]]:
    return {(name, topic) for name, topics in BEFORE.items() for topic in topics}


def counts(row: Any) -> dict[str, int]:
    return {name: row[name] for name in COUNTS if row[name]}


def versions(system: System) -> dict[str, int]:
    return dict(Subscriber.objects.filter(system=system).values_list("name", "version"))


def model_version(system: System) -> int:
    system.refresh_from_db()
    return system.model_version


def test_add_begins_what_is_listed(api: Any, system: System) -> None:
    row = carry_out(api, system, "add", table([("a", "x"), ("a", "z"), ("c", "z"), ("a", "z")]))
    assert row["state"] == "succeeded", row
    assert counts(row) == {
        **{"lines": 4, "repeated": 1, "added": 2, "unchanged": 1, "subscribers_changed": 2}
    }
    assert pairs_of(system) == before() | {("a", "z"), ("c", "z")}
    assert versions(system) == {"a": 2, "b": 1, "c": 2}


def test_remove_ends_what_is_listed(api: Any, system: System) -> None:
    row = carry_out(api, system, "remove", table([("a", "x"), ("a", "z"), ("b", "z")]))
    assert counts(row) == {"lines": 3, "removed": 2, "unchanged": 1, "subscribers_changed": 2}
    assert pairs_of(system) == {("a", "y")}
    assert versions(system) == {"a": 2, "b": 2, "c": 1}


def test_replace_leaves_who_is_not_listed(api: Any, system: System) -> None:
    row = carry_out(api, system, "replace", table([("a", "y"), ("a", "z"), ("c", "x")]))
    assert counts(row) == {
        **{"lines": 3, "added": 2, "removed": 1, "unchanged": 1, "subscribers_changed": 2}
    }
    assert pairs_of(system) == {("a", "y"), ("a", "z"), ("c", "x"), ("b", "z")}
    assert versions(system) == {"a": 2, "b": 1, "c": 2}


def test_json_means_the_same(api: Any, system: System) -> None:
    rows = [{"subscriber": "a", "topic": "z"}, {"subscriber": "c", "topic": "x"}]
    body = json.dumps({"rows": rows}).encode()
    row = carry_out(api, system, "add", body, "application/json")
    assert counts(row) == {"lines": 2, "added": 2, "subscribers_changed": 2}
    assert pairs_of(system) == before() | {("a", "z"), ("c", "x")}


@pytest.mark.parametrize("mode", ["add", "remove", "replace"])
def test_a_dry_run_counts_the_same_and_changes_nothing(api: Any, system: System, mode: str) -> None:
    body = table([("a", "y"), ("a", "z"), ("new", "x")] if mode != "remove" else [("a", "y")])
    more = {} if mode == "remove" else {"create_missing": "subscribers"}
    version, entries = model_version(system), AuditEntry.objects.count()
    tried = carry_out(api, system, mode, body, dry_run="true", **more)
    assert tried["state"] == "succeeded"
    assert tried["model_version"] is None
    assert pairs_of(system) == before()
    assert (model_version(system), AuditEntry.objects.count()) == (version, entries)
    assert not Subscriber.objects.filter(name="new").exists()
    assert counts(carry_out(api, system, mode, body, **more)) == counts(tried)
    assert model_version(system) == version + 1


@pytest.mark.parametrize("mode", ["add", "replace"])
def test_what_is_so_already_leaves_no_trace(api: Any, system: System, mode: str) -> None:
    version, entries, touched = model_version(system), AuditEntry.objects.count(), versions(system)
    row = carry_out(api, system, mode, table(sorted(before())))
    assert row["state"] == "succeeded"
    assert row["model_version"] is None
    assert counts(row) == {"lines": 3, "unchanged": 3}
    assert (model_version(system), AuditEntry.objects.count()) == (version, entries)
    assert versions(system) == touched


def test_missing_subscribers_are_created(api: Any, admin: Any, system: System) -> None:
    body = table([("d", "x"), ("a", "z"), ("=e", "y"), ("d", "y")])
    row = carry_out(api, system, "add", body, create_missing="subscribers", reason="New desks")
    assert counts(row) == {
        **{"lines": 4, "added": 4, "subscribers_changed": 1, "subscribers_created": 2}
    }
    assert pairs_of(system) == before() | {("d", "x"), ("d", "y"), ("a", "z"), ("=e", "y")}
    assert versions(system) == {"a": 2, "b": 1, "c": 1, "d": 1, "=e": 1}
    created = AuditEntry.objects.filter(object_kind="subscriber", action="create").order_by("id")
    assert [entry.object_name for entry in created] == ["d", "=e"]
    for entry in created:
        assert entry.actor == admin
        assert entry.reason == "New desks"
        assert entry.after["interests"] == []
        assert entry.object_id == Subscriber.objects.get(name=entry.object_name).public_id


def test_one_version_and_one_entry(api: Any, admin: Any, system: System) -> None:
    version = model_version(system)
    row = carry_out(
        api, system, "replace", table([("a", "z"), ("c", "x"), ("c", "y")]), reason="Autumn"
    )
    assert row["model_version"] == model_version(system) == version + 1
    entry = AuditEntry.objects.get(object_kind="interest_import")
    assert (entry.action, entry.object_name, entry.actor) == ("import", "I-1", admin)
    assert str(entry.object_id) == row["id"]
    assert (entry.system_id, entry.model_version) == (system.public_id, version + 1)
    assert entry.reason == "Autumn"
    assert entry.after == {
        "mode": "replace",
        "added": 3,
        "removed": 2,
        "subscribers_changed": 2,
        "subscribers_created": 0,
        "subscribers": [
            {"name": "a", "added": 1, "removed": 2},
            {"name": "c", "added": 2, "removed": 0},
        ],
    }


def test_the_entry_names_the_first_hundred_subscribers(api: Any, transactional_db: None) -> None:
    names = [f"s{k:03d}" for k in range(130)]
    system = make_catalog({name: [] for name in names}, ["x"])
    carry_out(api, system, "add", table((name, "x") for name in reversed(names)))
    shown = AuditEntry.objects.get(object_kind="interest_import").after["subscribers"]
    assert [one["name"] for one in shown] == names[:100]


def test_unknown_names_refuse_all_lines(api: Any, system: System) -> None:
    version = model_version(system)
    body = table([("a", "z"), ("nobody", "x"), ("b", "nothing"), ("nobody", "nothing")])
    row = carry_out(api, system, "add", body)
    assert (row["state"], row["lines"], row["error_count"]) == ("refused", 4, 4)
    assert [(one["line"], one["field"]) for one in row["errors"]] == [
        *((3, "subscriber"), (4, "topic"), (5, "subscriber"), (5, "topic"))
    ]
    assert 'There is no subscriber "nobody" in this system.' in row["errors"][0]["message"]
    assert 'There is no topic "nothing" in this system.' in row["errors"][1]["message"]
    assert pairs_of(system) == before()
    assert model_version(system) == version
    assert InterestImportPiece.objects.count() == 0


def test_unknown_topics_are_errors_also_where_subscribers_are_created(
    api: Any, system: System
) -> None:
    row = carry_out(
        api, system, "add", table([("d", "x"), ("d", "nothing")]), create_missing="subscribers"
    )
    assert row["state"] == "refused"
    assert [(one["line"], one["field"]) for one in row["errors"]] == [(3, "topic")]
    assert not Subscriber.objects.filter(name="d").exists()


def test_names_of_another_system_are_unknown(api: Any, system: System) -> None:
    other = make_catalog({"elsewhere": ["w"]}, ["w"], name="other")
    row = carry_out(api, system, "add", table([("elsewhere", "x"), ("a", "w")]))
    assert [(one["line"], one["field"]) for one in row["errors"]] == [
        *((2, "subscriber"), (3, "topic"))
    ]
    same = carry_out(api, other, "replace", table([("a", "w")]), create_missing="subscribers")
    assert same["state"] == "succeeded"
    assert pairs_of(system) == before()
    assert pairs_of(other) == {("elsewhere", "w"), ("a", "w")}


def test_errors_of_both_kinds_come_in_the_order_of_lines(api: Any, system: System) -> None:
    lines = ["a" if k % 2 else f"nobody-{k},x" for k in range(300)]
    body = ("subscriber,topic\n" + "\n".join(lines)).encode()
    row = carry_out(api, system, "remove", body)
    assert (row["state"], row["error_count"], row["lines"]) == ("refused", 300, 300)
    assert [one["line"] for one in row["errors"]] == list(range(2, 102))


def test_a_file_that_is_no_text_is_refused(api: Any, system: System) -> None:
    row = carry_out(api, system, "add", b"subscriber,topic\na,x\n\xff\xfe,x\n")
    assert row["state"] == "refused"
    assert [one["line"] for one in row["errors"]] == [3]


def test_names_that_postgres_would_take_for_marks(api: Any, transactional_db: None) -> None:
    names = ["\\N", "\\", "\\.", "a\\tb", '"q"', "é\u00a0ü", "%s", "'"]
    system = make_catalog({}, names)
    body = json.dumps({"rows": [{"subscriber": n, "topic": n} for n in names]}).encode()
    row = carry_out(api, system, "add", body, "application/json", create_missing="subscribers")
    assert row["state"] == "succeeded", row
    assert pairs_of(system) == {(name, name) for name in names}


STEPS = st.tuples(
    st.sampled_from(["add", "remove", "replace"]),
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c", "d", "e"]), st.sampled_from(["x", "y", "z"])),
        max_size=12,
    ),
    st.booleans(),
)


@given(steps=st.lists(STEPS, min_size=1, max_size=3), at_once=st.sampled_from([1, 2, 50_000]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_imports_do_what_sets_do(
    api: Any, monkeypatch: pytest.MonkeyPatch, steps: Any, at_once: int
) -> None:
    """An oracle in plain Python, for any imports one after the other."""
    monkeypatch.setattr(import_tables, "INTERESTS_AT_ONCE", at_once)
    monkeypatch.setattr(import_tables, "SUBSCRIBERS_AT_ONCE", at_once)
    System.objects.all().delete()
    system = make_catalog(BEFORE, TOPICS)
    wants, there = before(), set(BEFORE)
    expected_versions = dict.fromkeys(BEFORE, 1)
    for mode, pairs, create in steps:
        version = model_version(system)
        create = create and mode != "remove"
        listed, named = set(pairs), {name for name, _ in pairs}
        more = {"create_missing": "subscribers"} if create else {}
        row = carry_out(api, system, mode, table(pairs), **more)
        if named - there and not create:
            assert row["state"] == "refused"
            unknown = [k + 2 for k, (name, _) in enumerate(pairs) if name not in there]
            assert [one["line"] for one in row["errors"]] == unknown
            assert pairs_of(system) == wants
            assert model_version(system) == version
            continue
        after = {
            "add": wants | listed,
            "remove": wants - listed,
            "replace": {pair for pair in wants if pair[0] not in named} | listed,
        }[mode]
        added, removed = after - wants, wants - after
        touched = {name for name, _ in added | removed}
        unchanged = listed - removed if mode == "remove" else listed & wants
        assert pairs_of(system) == after
        assert counts(row) == {
            name: count
            for name, count in {
                "lines": len(pairs),
                "repeated": len(pairs) - len(listed),
                "added": len(added),
                "removed": len(removed),
                "unchanged": len(unchanged),
                "subscribers_changed": len(touched & there),
                "subscribers_created": len(touched - there),
            }.items()
            if count
        }
        expected_versions |= {name: expected_versions.get(name, 0) + 1 for name in touched}
        assert versions(system) == expected_versions
        assert model_version(system) == version + bool(touched)
        wants, there = after, there | touched


def test_many_interests_in_many_pieces(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_tables, "INTERESTS_AT_ONCE", 70)
    monkeypatch.setattr(import_tables, "LINES_AT_ONCE", 33)
    rng = random.Random(5)
    topics = [f"t{k}" for k in range(60)]
    system = make_catalog({f"s{k}": rng.sample(topics, 30) for k in range(20)}, topics)
    wanted = {(f"s{k}", topic) for k in range(25) for topic in rng.sample(topics, 20)}
    lines = [*wanted, *rng.sample(sorted(wanted), 100)]
    rng.shuffle(lines)
    row = carry_out(api, system, "replace", table(lines), create_missing="subscribers")
    assert pairs_of(system) == wanted
    assert (row["repeated"], row["subscribers_created"]) == (100, 5)
    assert (row["done"], row["total"]) == (row["added"] + row["removed"],) * 2


def test_the_published_examples_are_carried_out(api: Any, transactional_db: None) -> None:
    system = make_catalog({"risk-engine": []}, ["quotes.eurusd"])
    dry = {"dry_run": "true"}
    by_json = json.dumps(REQUESTS["POST /interest-imports"]).encode()
    first = carry_out(api, system, "add", by_json, "application/json", **dry)
    second = carry_out(api, system, "add", TABLES["POST /interest-imports"].encode(), **dry)
    assert counts(first) == counts(second) == {"lines": 1, "added": 1, "subscribers_changed": 1}


def test_an_edit_between_sending_and_import_counts(api: Any, system: System) -> None:
    public_id = start(api, system, "replace", table([("a", "x")]))
    subscriber = Subscriber.objects.get(name="a")
    topic = Interest.objects.get(subscriber__name="b").topic
    entity_update(
        instance=subscriber,
        actor=None,
        expected_version=1,
        values={},
        children={"interests": [{"topic": topic}]},
    )
    import_execute(public_id=public_id)
    row = row_of(public_id)
    assert (row.added, row.removed) == (1, 1)
    assert versions(system)["a"] == 3


def test_no_line_outlasts_its_import(api: Any, system: System) -> None:
    carry_out(api, system, "add", table([("a", "z")]))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'import\\_%'")
        assert cursor.fetchone() == (0,)
    assert InterestImportPiece.objects.count() == 0


def test_the_database_keeps_interests_within_a_system_also_in_many_rows(
    system: System,
) -> None:
    other = make_catalog({}, ["w"], name="other")
    subscriber = Subscriber.objects.get(name="c")
    mine = list(system.topic_set.all())
    wrong = other.topic_set.get()
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        Interest.objects.bulk_create(
            Interest(subscriber=subscriber, topic=topic) for topic in [*mine, wrong]
        )
    assert refused.value.__cause__.diag.constraint_name == "interest_stays_in_its_system"
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        Interest.objects.filter(subscriber__name="b").update(topic=wrong)
    assert refused.value.__cause__.diag.constraint_name == "interest_stays_in_its_system"
    assert Counter(name for name, _ in pairs_of(system)) == {"a": 2, "b": 1}
