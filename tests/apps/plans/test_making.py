"""A plan is made of a document, counted once, and replaces its elders."""

from dataclasses import replace

import pytest

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError, Conflict
from apps.plans.models import Plan
from apps.plans.services import plan_create
from tests.factories.fleet import Harbour, make_harbour, population, rate, shift
from tests.factories.plans import approved, edit_model, make_document, make_plan
from tests.weir.plan_strategies import plan_hash
from weir.codec.plan import plan_bytes


def test_keeps_the_canonical_bytes_under_their_hash(plan: Plan, harbour: Harbour) -> None:
    document = make_document(harbour.system)
    fresh = Plan.objects.get(pk=plan.pk)
    assert bytes(fresh.document) == plan_bytes(document)
    assert fresh.content_hash == plan_hash(document)
    assert fresh.content == document
    assert (str(fresh), fresh.state, fresh.model_version) == (
        "P-1",
        "draft",
        harbour.system.model_version,
    )


def test_counts_what_it_touches(harbour: Harbour, ines: User) -> None:
    steps = [[population(None, 4), rate(None, 20.0)], [rate(20.0, 30.0)], [shift("d", "c", "b")]]
    plan = make_plan(harbour.system, ines, *steps)
    assert plan.blast_radius == {
        "brokers": 4,
        "brokers_total": 4,
        "topics": 1,
        "topics_total": 1,
        "links": 1,
        "actions": 4,
        "consumers_admitted": 0,
        "consumers_released": 6,
    }


def test_numbers_count_per_system(harbour: Harbour, ines: User) -> None:
    other = make_harbour("other").system
    assert make_plan(harbour.system, ines).number == 1
    assert make_plan(other, ines).number == 1
    assert make_plan(harbour.system, ines, title="Neap tide").number == 2


def test_supersedes_older_unsettled_plans_of_its_kind(
    harbour: Harbour, ines: User, jon: User
) -> None:
    first = approved(make_plan(harbour.system, ines), ines, jon)
    topology = make_plan(harbour.system, ines, [shift("d", "c", "b")], kind="topology")
    second = make_plan(harbour.system, ines, title="Neap tide")
    first.refresh_from_db()
    topology.refresh_from_db()
    assert (first.state, first.superseded_by) == ("superseded", second)
    assert topology.state == "draft"
    assert first.events.last().title == "replaced it by P-3"  # type: ignore[union-attr]
    assert "superseded P-1" in [event.title for event in second.events.all()]
    assert AuditEntry.objects.filter(action="supersede", object_id=first.public_id).exists()


def test_refuses_what_a_live_plan_already_says(plan: Plan, harbour: Harbour, ines: User) -> None:
    with pytest.raises(Conflict) as caught:
        make_plan(harbour.system, ines)
    assert caught.value.code == "plan_exists"
    assert caught.value.extra == {"plan": str(plan.public_id)}
    plan.refresh_from_db()
    assert plan.state == "draft"


def test_refuses_a_document_of_an_older_model(harbour: Harbour, ines: User) -> None:
    document = make_document(harbour.system)
    edit_model(harbour, ines)
    with pytest.raises(Conflict, match=r"ines changed topic tides \(rate_max_per_s\)") as caught:
        plan_create(system=harbour.system, actor=ines, document=document)
    assert caught.value.code == "plan_is_stale"
    assert not Plan.objects.exists()


def test_takes_a_title_as_long_as_the_longest(harbour: Harbour, ines: User) -> None:
    assert make_plan(harbour.system, ines, title="x" * 200).title == "x" * 200


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"system": "elsewhere"}, "system"),
        ({"title": "x" * 201}, "title"),
        ({"title": " "}, "title"),
        ({"steps": ()}, "steps"),
    ],
)
def test_refuses_a_document_that_makes_no_sense(
    harbour: Harbour, ines: User, change: dict[str, object], field: str
) -> None:
    document = replace(make_document(harbour.system), **change)  # type: ignore[arg-type]
    with pytest.raises(ApplicationError) as caught:
        plan_create(system=harbour.system, actor=ines, document=document)
    assert caught.value.code == "invalid_plan"
    assert caught.value.errors[0].field == field
