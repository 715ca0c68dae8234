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


PLACE = {"group": 1, "stream": 2}
HAND_OVER = {"source": PLACE, "target": PLACE, "phase": "done", "began_at": 1.0, "took_s": 0.1}


@pytest.mark.parametrize(
    ("wild", "field"),
    [
        ({"began_at": -1.0}, "began_at"),
        ({"began_at": 1e12}, "began_at"),
        ({"took_s": -1.0}, "took_s"),
        ({"took_s": None}, "took_s"),
        ({"phase": "draining"}, "took_s"),
        ({"unready": 2**80}, "unready"),
        ({"target": {"group": 2**80, "stream": 0}}, "target.group"),
        ({"next": {"group": 0, "stream": -1}}, "next.stream"),
        ({"next": "nowhere"}, "next"),
        ({"phase": "later", "took_s": None}, "phase"),
        ({"source": None}, "source"),
    ],
)
def test_a_hand_over_that_nobody_can_have_is_refused(agents, wild, field):
    a = agents["a"]
    a.obey()
    answer = a.say(observed=a.observed(hand_overs={"tides": {**HAND_OVER, **wild}}))
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["field"].startswith("observed.hand_overs")
    assert error["field"].endswith(field)
    assert a.say(observed=a.observed(hand_overs={"tides": HAND_OVER})).status_code == 200
    assert agent_row(a).observed["hand_overs"]["tides"]["target"] == PLACE
    assert a.say(observed=a.observed(hand_overs=None)).status_code == 200
    assert agent_row(a).observed["hand_overs"] is None
