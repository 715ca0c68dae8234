"""What accepting, rejecting and undoing suggestions does to the model."""

from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.catalog.models import CorrelationKey, Publisher, Topic
from apps.common.errors import ApplicationError, Conflict
from apps.correlation.models import Suggestion
from apps.correlation.selectors.suggestions import keys_moved
from apps.correlation.services import suggestion_accept, suggestion_reject, suggestion_undo
from apps.systems.services import entity_update
from tests.at_once import at_once
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.bay import PIER, QUAY, Bay, make_bay, suggested

pytestmark = pytest.mark.django_db


def accept(suggestion: Suggestion, name: str = "quay", **values: Any) -> Suggestion:
    return suggestion_accept(**{"suggestion": suggestion, "actor": None, "name": name, **values})


def test_accepting_gives_a_new_key_to_those_without_one_as_one_edit(bay: Bay, admin: User) -> None:
    (suggestion,) = suggested(bay, [*QUAY, "stranger"])
    before = bay.version()
    done = accept(suggestion, actor=admin, note="Seen on the raster")
    assert bay.keys() == {"quay-1": "old", **dict.fromkeys(QUAY[1:], "quay")}
    assert bay.version() == before + 1
    assert (done.state, done.key_name, done.decided_by) == ("accepted", "quay", admin)
    assert done.effect == (
        "3 publishers got quay, which was made for them; 1 kept another key, 1 is not in the "
        "catalogue."
    )
    entries = AuditEntry.objects.filter(model_version=before + 1, system_id=bay.system.public_id)
    assert sorted(entries.values_list("object_kind", "action", "object_name")) == [
        ("correlation_key", "create", "quay"),
        ("correlation_suggestion", "accept", "C-1.1"),
        ("publisher", "update", "quay-2"),
        ("publisher", "update", "quay-3"),
        ("publisher", "update", "quay-4"),
    ]
    entry = entries.get(object_name="quay-2")
    assert (entry.before, entry.after) == ({"correlation_key": None}, {"correlation_key": "quay"})
    assert entry.reason == "Accepted C-1.1. Seen on the raster"
    assert entry.actor_name == admin.display_name


def test_accepting_with_replace_takes_a_key_that_exists(bay: Bay) -> None:
    CorrelationKey.objects.create(system=bay.system, name="dock 'A'/北")
    (suggestion,) = suggested(bay, QUAY)
    done = accept(suggestion, "dock 'A'/北", replace=True)
    assert bay.keys() == dict.fromkeys(QUAY, "dock 'A'/北")
    assert CorrelationKey.objects.count() == 2
    assert done.effect == "4 publishers got dock 'A'/北; 1 instead of another key."


def test_undoing_restores_what_was_before_as_one_edit(bay: Bay) -> None:
    (suggestion,) = suggested(bay, QUAY)
    accept(suggestion, replace=True)
    before = bay.version()
    done = suggestion_undo(suggestion=suggestion, actor=None, note="Two sites")
    assert bay.keys() == {"quay-1": "old"}
    assert bay.version() == before + 1
    assert list(CorrelationKey.objects.values_list("name", flat=True)) == ["old"]
    assert (done.state, done.decided_at, done.key_name, done.applied) == ("open", None, "", {})
    assert done.effect == (
        "4 publishers lost quay again. quay was deleted, because nobody carries it."
    )
    accept(suggestion, "again")
    assert set(bay.keys().values()) == {"old", "again"}


def test_undoing_leaves_alone_what_others_have_edited_since(bay: Bay) -> None:
    (suggestion,) = suggested(bay, QUAY)
    accept(suggestion, replace=True)
    mine = CorrelationKey.objects.create(system=bay.system, name="mine")
    quay = CorrelationKey.objects.get(name="quay")
    Publisher.objects.filter(name="quay-2").update(correlation_key=mine)
    Publisher.objects.filter(name="quay-3").delete()
    Publisher.objects.filter(name="pier-1").update(correlation_key=quay)
    Publisher.objects.filter(name="quay-4").update(name="renamed")
    CorrelationKey.objects.filter(name="old").delete()
    done = suggestion_undo(suggestion=suggestion, actor=None)
    # The key is kept for the publisher that somebody gave it to.
    assert bay.keys() == {"quay-2": "mine", "pier-1": "quay"}
    assert done.effect == (
        "2 publishers lost quay again. 1 of them has no key now: the one before was deleted. "
        "2 were left alone: 1 carries another key or none by now, 1 was deleted."
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)])
def test_acceptances_are_undone_in_any_order(bay: Bay, order: tuple[int, ...]) -> None:
    """Whoever undoes the earlier first leaves its keys to the later, which gives them back."""
    Publisher.objects.filter(topic=bay.topic, name__startswith="quay").update(
        correlation_key=bay.old
    )
    before = bay.keys()
    made = []
    for name in "ABC"[: len(order)]:
        (suggestion,) = suggested(bay, QUAY if name != "C" else QUAY[:2])
        made.append(accept(suggestion, name, replace=True))
    for number in order:
        suggestion_undo(suggestion=made[number], actor=None)
    assert bay.keys() == before
    assert list(CorrelationKey.objects.values_list("name", flat=True)) == ["old"]


@pytest.mark.parametrize("first", [0, 1])
def test_a_key_that_two_acceptances_gave_goes_with_the_last(bay: Bay, first: int) -> None:
    made = [accept(each, "dock") for each in suggested(bay, QUAY[1:], PIER)]
    suggestion_undo(suggestion=made[first], actor=None)
    assert len(bay.keys()) == 1 + made[1 - first].size
    suggestion_undo(suggestion=made[1 - first], actor=None)
    assert bay.keys() == {"quay-1": "old"}
    assert list(CorrelationKey.objects.values_list("name", flat=True)) == ["old"]


def _give_key(bay: Bay, name: str) -> None:
    row = bay.publisher(name)
    entity_update(
        instance=row,
        actor=None,
        expected_version=row.version,
        values={"correlation_key": bay.old},
    )


@pytest.mark.parametrize("command", [accept, suggestion_reject, suggestion_undo])
def test_who_decides_by_keys_that_moved_is_refused(bay: Bay, command: Any) -> None:
    (suggestion,) = suggested(bay, QUAY)
    if command is suggestion_undo:
        accept(suggestion)
    seen = bay.version()
    _give_key(bay, "pier-1")
    given = {"suggestion": suggestion, "actor": None, "model_version": seen}
    assert not keys_moved(Suggestion.objects.get(pk=suggestion.pk), seen)
    _give_key(bay, "quay-2")
    keys = bay.keys()
    with pytest.raises(Conflict, match="look again") as refusal:
        command(**given)
    assert (refusal.value.code, bay.keys()) == ("changed_meanwhile", keys)
    seen = bay.version()
    quay = bay.publisher("quay-3")
    entity_update(
        instance=quay, actor=None, expected_version=quay.version, values={"name": "renamed"}
    )
    with pytest.raises(Conflict, match="look again"):
        command(**{**given, "model_version": seen})
    assert command(**{**given, "model_version": bay.version()}).pk == suggestion.pk


def test_undoing_after_the_key_was_renamed_still_finds_it(bay: Bay) -> None:
    (suggestion,) = suggested(bay, QUAY)
    accept(suggestion)
    CorrelationKey.objects.filter(name="quay").update(name="basin")
    suggestion_undo(suggestion=suggestion, actor=None)
    assert bay.keys() == {"quay-1": "old"}
    assert not CorrelationKey.objects.filter(name="basin").exists()


def test_a_key_that_was_there_before_stays(bay: Bay) -> None:
    (suggestion,) = suggested(bay, QUAY)
    accept(suggestion, "old")
    suggestion_undo(suggestion=suggestion, actor=None)
    assert bay.keys() == {"quay-1": "old"}


def test_what_would_change_nobody_is_refused(bay: Bay) -> None:
    (strangers, quay) = suggested(bay, ["x-1", "x-2", "gauge"], QUAY)
    before = bay.version()
    with pytest.raises(Conflict, match="None of the 3 publishers is in the catalogue") as refusal:
        accept(strangers)
    assert refusal.value.code == "nothing_to_apply"
    accept(quay, "old")
    suggestion = suggested(bay, QUAY)[0]
    with pytest.raises(Conflict, match="All 4 of them that are in the catalogue carry old"):
        accept(suggestion, "old", replace=True)
    with pytest.raises(Conflict, match=r"4 carry another one. Send `replace`"):
        accept(suggestion, "new")
    assert not CorrelationKey.objects.filter(name="new").exists()
    assert bay.version() == before + 1
    Topic.objects.filter(pk=bay.topic.pk).delete()
    with pytest.raises(Conflict, match="topic was deleted"):
        accept(suggestion, "new")


def test_rejecting_changes_nothing_and_can_be_undone(bay: Bay, admin: User) -> None:
    (suggestion,) = suggested(bay, QUAY)
    before = bay.version()
    done = suggestion_reject(suggestion=suggestion, actor=admin, note="Same clock")
    assert (done.state, done.note, bay.keys()) == ("rejected", "Same clock", {"quay-1": "old"})
    with pytest.raises(Conflict, match="was rejected by admin already") as refusal:
        accept(suggestion)
    assert refusal.value.code == "decided_already"
    assert suggestion_undo(suggestion=suggestion, actor=admin).state == "open"
    with pytest.raises(Conflict) as refusal:
        suggestion_undo(suggestion=suggestion, actor=admin)
    assert refusal.value.code == "not_decided"
    assert bay.version() == before
    kinds = AuditEntry.objects.filter(object_kind="correlation_suggestion")
    assert list(kinds.order_by("id").values_list("action", flat=True)) == ["reject", "undo"]


def test_a_suggestion_that_is_gone_is_decided_by_nobody(bay: Bay) -> None:
    (suggestion,) = suggested(bay, QUAY)
    Suggestion.objects.all().delete()
    with pytest.raises(ApplicationError) as refusal:
        accept(suggestion)
    assert (refusal.value.status, bay.keys()) == (404, {"quay-1": "old"})


def test_statements_do_not_grow_with_the_members(db: None) -> None:
    """Twenty thousand took seconds; a statement for each would take minutes."""
    counts = []
    for size in (20, 2_000):
        names = [f"quay-{n:05}" for n in range(size)]
        bay = make_bay(f"bay of {size}", names=names)
        (suggestion,) = suggested(bay, names)
        with CaptureQueriesContext(connection) as accepting:
            accept(suggestion)
        assert len(bay.keys()) == size
        with CaptureQueriesContext(connection) as undoing:
            suggestion_undo(suggestion=suggestion, actor=None)
        assert bay.keys() == {}
        counts.append((len(accepting), len(undoing)))
    assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_accept_at_once_one_wins(transactional_db: None) -> None:
    bay = make_bay()
    (suggestion,) = suggested(bay, QUAY)
    address = f"/api/v1/correlation-suggestions/{suggestion.public_id}/accept"
    people = [client_of(make_user(name, Role.EDITOR)) for name in ("erik", "ines")]

    def send(index: int) -> Any:
        return people[index].post(address, {"name": f"key-{index}"}, format="json")

    answers = at_once(*(partial(send, index) for index in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    (refused,) = [answer.json() for answer in answers if answer.status_code == 409]
    assert refused["code"] == "decided_already"
    assert CorrelationKey.objects.exclude(name="old").count() == 1
    assert len(set(bay.keys().values()) - {"old"}) == 1
