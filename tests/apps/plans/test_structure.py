"""What a person reads of a change of structure: each sentence, and no more of them."""

import pytest

from apps.executions.selectors.modelled import CLASS, FLOW, Asked
from apps.plans.domain.naming import listed
from apps.plans.domain.structure import difference, reasons
from weir.actions import setting_key
from weir.model.plan import Action, Value

RELIABLE, BEST_EFFORT = "reliable", "best_effort"


def flow(broker: str, delivery: str = RELIABLE) -> Value:
    return {"broker": broker, "delivery": delivery}


def effects(
    kind: str, before: Value | None, after: Value | None
) -> tuple[list[str], tuple[str, ...]]:
    """What the actions do, and what a reviewer is told."""
    target = {"flow": "tides"} if kind == FLOW else {"class": "gulls", "broker": "c"}
    key = setting_key(Action(kind=kind, target=target))
    wanted = {} if after is None else {key: Asked(kind=kind, target=target, value=after)}
    changes = difference(wanted, {} if before is None else {key: before})
    return [action.effect for action in changes.actions], reasons(changes)


DRAIN = (
    "Reliable messages of tides that a has acknowledged and not handed on when its ingress moves "
    "wait at a and are not delivered: stop its publishers and let it drain first."
)
ENDS = "tides ends: messages that wait are not delivered, and publishers are refused."


@pytest.mark.parametrize(
    ("before", "after", "effect", "told"),
    [
        (None, flow("a"), "Publishers of tides may send to a.", ()),
        (None, flow(""), "Publishers of tides may send nowhere yet.", ()),
        (
            flow("a"),
            None,
            "Publishers of tides are refused; nothing of it is delivered any more.",
            (ENDS,),
        ),
        (
            flow("a"),
            flow("b"),
            "Publishers of tides have to send to b from then on.",
            (DRAIN,),
        ),
        (
            flow("a", BEST_EFFORT),
            flow("", BEST_EFFORT),
            "Publishers of tides have to send to nowhere from then on.",
            (),
        ),
        (flow(""), flow("a"), "Publishers of tides have to send to a from then on.", ()),
        (
            flow("a"),
            flow("a", BEST_EFFORT),
            "What publishers of tides send from then on is best effort.",
            ("tides may lose messages from then on: best effort.",),
        ),
        (
            flow("a", BEST_EFFORT),
            flow("a"),
            "What publishers of tides send from then on is reliable.",
            (),
        ),
    ],
)
def test_says_what_a_change_of_a_flow_does_and_loses(before, after, effect, told):
    assert effects(FLOW, before, after) == (
        [effect],
        ("The model asks for what agents do not do yet: 1 flow.", *told),
    )


@pytest.mark.parametrize(
    ("before", "after", "effect", "told"),
    [
        (None, {"flow": "tides"}, "Consumers of gulls may connect at c and receive tides.", ()),
        (
            {"flow": "tides"},
            None,
            "Consumers of gulls are let go and not let in again.",
            ("Consumers of gulls at c are let go; what waits for them is not delivered.",),
        ),
        (
            {"flow": "tides"},
            {"flow": "winds"},
            "Consumers of gulls receive winds from then on, and no longer tides.",
            (),
        ),
    ],
)
def test_says_what_a_change_of_a_class_does_and_loses(before, after, effect, told):
    assert effects(CLASS, before, after) == (
        [effect],
        ("The model asks for what agents do not do yet: 1 class.", *told),
    )


def test_nothing_is_said_where_nothing_differs():
    assert effects(FLOW, flow("a"), flow("a")) == ([], ())


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("a",), "a"),
        (("a", "b"), "a and b"),
        (("a", "b", "c"), "a, b and c"),
        (("a", "b", "c", "d"), "a, b, c and 1 more"),
        (("a", "b", "c", "d", "e"), "a, b, c and 2 more"),
    ],
)
def test_lists_three_names_and_counts_the_others(names, text):
    assert listed(names) == text
