"""Many objects made at once are those that would have been made one by one."""

from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.catalog.models import Stream, Subscriber, Topic
from apps.common.errors import ApplicationError
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create, entity_create, one_edit
from apps.topology.models import Broker
from tests.factories import make_system

pytestmark = pytest.mark.django_db

CAPACITIES = [{"resource": "cpu", "capacity": 5}]


def drafted(system: System) -> Drafts:
    """A subscriber who wants topics, one of which rides on a stream that came after the other."""
    drafts = Drafts(system)
    broker = drafts.add(Broker, {"capacities": CAPACITIES}, name="b1")
    rates = {"rate_min_per_s": 1, "rate_max_per_s": 9, "source": broker}
    costs = [{"broker": broker, "resource": "cpu", "cost": 2}]
    first = drafts.add(Topic, {"node_costs": costs}, name="first", **rates)
    stream = drafts.add(Stream, name="s1", number=1)
    second = drafts.add(Topic, name="second", stream=stream, **rates)
    interests = [{"topic": second}, {"topic": first}]
    drafts.add(Subscriber, {"interests": interests}, name="desk", broker=broker)
    return drafts


def recorded(system: System) -> list[Any]:
    entries = AuditEntry.objects.filter(system_id=system.public_id).order_by("id")[1:]
    return [(e.action, e.object_name, e.model_version, e.after, e.reason) for e in entries]


def test_rows_versions_and_entries_are_those_of_one_by_one() -> None:
    together, apart = make_system("together"), make_system("apart")
    drafts = drafted(together)
    entities_create(drafts=drafts, actor=None, reason="opening")
    with one_edit():
        made: dict[str, Any] = {}
        for draft in drafted(apart).rows:
            row = draft.instance
            values = {
                f.name: made.get(str(value), value)
                for f in row._meta.concrete_fields
                if f.name not in ("id", "system") and (value := getattr(row, f.name)) is not None
            }
            children = {
                name: [{k: made.get(str(v), v) for k, v in child.items()} for child in rows]
                for name, rows in draft.children.items()
            }
            made[row.name] = entity_create(
                model=type(row),
                system=apart,
                actor=None,
                values=values,
                children=children,
                reason="opening",
            )
    assert recorded(together) == recorded(apart)
    assert [name for _, name, *_ in recorded(together)] == ["b1", "first", "s1", "second", "desk"]
    together.refresh_from_db()
    apart.refresh_from_db()
    assert together.model_version == apart.model_version == 2
    assert [draft.instance.pk for draft in drafts.rows if draft.instance.pk is None] == []


@pytest.mark.parametrize(
    ("values", "children", "field"),
    [
        ({"name": "b1"}, {}, "name"),
        ({"name": "b2", "region": "x" * 101}, {}, "region"),
        ({"name": "b2"}, {"capacities": [*CAPACITIES, *CAPACITIES]}, "capacities[1]"),
        (
            {"name": "b2"},
            {"capacities": [{"resource": "cpu", "capacity": -1}]},
            "capacities[0]",
        ),
    ],
)
def test_one_flaw_is_named_and_nothing_is_made(values: Any, children: Any, field: str) -> None:
    system = make_system()
    drafts = drafted(system)
    drafts.add(Broker, children, **values)
    with pytest.raises(ApplicationError) as refused:
        entities_create(drafts=drafts, actor=None)
    assert [error.field for error in refused.value.errors] == [field]
    assert not Broker.objects.filter(system=system).exists()
    assert not Topic.objects.filter(system=system).exists()
    system.refresh_from_db()
    assert system.model_version == 1
    assert recorded(system) == []


def test_the_number_of_statements_does_not_grow(django_assert_max_num_queries: Any) -> None:
    def drafts(name: str, count: int) -> Drafts:
        made = Drafts(make_system(name))
        for index in range(count):
            made.add(Broker, {"capacities": CAPACITIES}, name=f"b{index}")
        return made

    few, many = drafts("few", 2), drafts("many", 200)
    with django_assert_max_num_queries(20) as statements:
        entities_create(drafts=few, actor=None)
    with django_assert_max_num_queries(len(statements)):
        entities_create(drafts=many, actor=None)
