"""What one agent claims of itself cannot lock its system, or its broker, for good."""

import pytest

from apps.accounts.domain.roles import Role
from apps.executions.services.restored import restored_adopt
from tests.factories import make_user
from tests.factories.fleet import agent_row

LARGEST = 2**53 - 1


def test_a_document_number_that_nobody_can_have_is_refused(harbour, agents):
    """Adopted, it would leave no number that agents may name: none could report ever after."""
    a, d = agents["a"], agents["d"]
    answer = a.post("session", {"incarnation": a.incarnation, "number": LARGEST})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "number")
    a.obeyed = LARGEST
    refused = a.asking().result(20)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "number")
    assert not agent_row(a).is_ahead
    d.obey()
    assert d.say(observed=d.observed()).status_code == 200


def test_numbers_are_left_after_the_largest_that_is_believed_was_adopted(harbour, agents):
    a, d = agents["a"], agents["d"]
    operator = make_user("olga", Role.OPERATOR)
    for _ in range(3):
        furthest = agent_row(a).served_number + 2**40
        answer = a.post("session", {"incarnation": a.incarnation, "number": furthest})
        a.incarnation = answer.json()["incarnation"]
        assert restored_adopt(system=harbour.system, actor=operator, reason="x") > furthest
        a.poll_now()
    d.obey()
    assert d.say(observed=d.observed()).status_code == 200


@pytest.mark.parametrize("claimed", [2_000_000_000, 2**31 - 1])
def test_a_session_number_that_is_claimed_leaves_room_for_the_next(harbour, agents, claimed):
    a = agents["a"]
    answer = a.post("session", {"incarnation": claimed})
    if answer.status_code == 200:
        a.incarnation = answer.json()["incarnation"]
    else:
        assert answer.json()["errors"][0]["field"] == "incarnation"
    a.come()
    assert a.poll_now().broker == "a"
    assert a.say(observed=a.observed()).status_code == 200


def test_a_size_that_leaves_no_messages_for_others_is_refused(agents):
    for size, status in ((1, 400), (65_535, 400), (65_536, 200)):
        answer = agents["b"].post("session", {"facts": {"max_payload_bytes": size}})
        assert answer.status_code == status
    agents["b"].incarnation = answer.json()["incarnation"]
    assert agents["a"].poll_now().flows["tides"].max_message_bytes == 65_536
    answer = agents["b"].post("session", {"facts": {"max_payload_bytes": 1}})
    error = answer.json()["errors"][0]
    assert error["field"] == "facts.max_payload_bytes"
    assert "raise its max_payload to at least 65,536" in error["message"]
    assert agents["a"].poll_now().flows["tides"].max_message_bytes == 65_536
