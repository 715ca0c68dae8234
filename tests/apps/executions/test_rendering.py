"""Documents made by what changed equal those made from nothing, and no others are made anew."""

import asyncio
import json
import uuid
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.executions.services import document_cache as desks
from apps.executions.services.document_cache import Desk, SystemGone, Texts
from apps.executions.services.documents import Facts, Stamp, document_of
from weir.coordination import wire

BROKERS = "abc"
FLOWS = ("tides", "ebb")


def facts(**members) -> Facts:
    plain = {
        "system": "harbour",
        "deliveries": {"tides": wire.Delivery.RELIABLE},
        "ingress": {"a": frozenset({"tides"})},
        "classes": {"c": {"gulls": wire.ClassSpec(flow="tides", limit=4)}},
        "gates": {"a": {"tides": wire.Gate(rate_per_s=90.0, burst=5.0)}},
        "neighbours": {"a": frozenset("b"), "b": frozenset("ac"), "c": frozenset("b")},
        "sessions": dict.fromkeys(BROKERS, 1),
        "addresses": {name: f"sim://{name}" for name in BROKERS},
        "keys": {},
        "unmanaged": "refuse",
        "max_message_bytes": 1_000_000,
        "keep_s": 3600,
        "orders": (),
    }
    return Facts(**{**plain, **members})


def whole(of: Facts) -> dict[str, tuple[str, dict]]:
    documents = {broker: document_of(of, broker) for broker in BROKERS}
    return {
        broker: (document.version, json.loads(json.dumps(wire.to_dict(document))))
        for broker, document in documents.items()
    }


def read(texts: Texts) -> dict[str, tuple[str, dict]]:
    documents = {broker: texts.document(broker) for broker in BROKERS}
    return {broker: (version, json.loads(text)) for broker, (version, _, text) in documents.items()}


def orders(broker: str) -> tuple[wire.Order, ...]:
    return tuple(
        wire.Order(
            action="x",
            attempt=1,
            kind="shift_link",
            phase=wire.OrderPhase.PREPARE,
            role=role,
            peers={"i": broker, "j": "b", "k": "c"},
        )
        for role in ("i", "j", "k")
    )


some_facts = st.builds(
    facts,
    deliveries=st.dictionaries(
        st.sampled_from(FLOWS), st.sampled_from(list(wire.Delivery)), min_size=2
    ),
    ingress=st.dictionaries(st.sampled_from(BROKERS), st.frozensets(st.sampled_from(FLOWS))),
    gates=st.dictionaries(
        st.sampled_from(BROKERS),
        st.just({"tides": wire.Gate(rate_per_s=1.0, burst=2.0)}),
    ),
    buckets=st.dictionaries(
        st.sampled_from(BROKERS),
        st.just({"tides": wire.Bucket(rate_per_s=1.0, size=0.5)}),
    ),
    publishers=st.dictionaries(
        st.just("tides"),
        st.dictionaries(st.sampled_from(BROKERS), st.frozensets(st.sampled_from(["p", "q"]))),
    ),
    neighbours=st.dictionaries(st.sampled_from(BROKERS), st.frozensets(st.sampled_from(BROKERS))),
    orders=st.sampled_from([(), orders("a")]),
    number=st.integers(1, 3),
    keep_s=st.sampled_from([3600, 60]),
    max_message_bytes=st.sampled_from([0, 1000]),
)


@given(before=some_facts, after=some_facts)
@settings(deadline=None)
def test_equal_those_made_from_nothing(before, after):
    former = Texts(before)
    assert read(former) == whole(before)
    assert read(Texts(after, former)) == whole(after)


def test_only_the_broker_whose_rate_changed_gets_a_new_text():
    former = Texts(facts())
    read(former)
    gates = {"a": {"tides": wire.Gate(rate_per_s=80.0, burst=5.0)}}
    texts = Texts(facts(gates=gates), former)
    assert texts.rendered == 1
    assert texts.known("b") is not None
    assert texts.known("b") == former.known("b")
    assert texts.known("a")[0] != former.known("a")[0]


def test_a_text_that_stays_says_the_number_of_the_newest_look():
    former = Texts(facts(number=7))
    read(former)
    texts = Texts(facts(number=9), former)
    assert texts.rendered == 0
    version, number, text = texts.known("b")
    assert (version, number, json.loads(text)["number"]) == (former.known("b")[0], 9, 9)


def test_a_text_is_made_when_somebody_asks_for_it():
    texts = Texts(facts())
    assert texts.known("a") is None
    texts.document("a")
    assert texts.rendered == 1
    # Nobody waits at b and c: nothing is made for them.
    assert Texts(replace(facts(), system="bay"), texts).rendered == 1


def test_a_look_between_the_reading_and_the_waiting_is_heard(monkeypatch):
    async def scene() -> bool:
        desk = Desk(1, uuid.uuid4())
        looks = iter([(Stamp(1, 1, 1, 1, 1), facts()), (Stamp(2, 1, 1, 1, 1), facts(system="bay"))])
        monkeypatch.setattr(desks, "facts_of", lambda *_: next(looks))
        await desk.catch_up(None)
        bell = desk.bell
        before, *_ = await desk.document("a")
        await desk.catch_up(None)
        heard = await desk.change(bell, 0.5)
        after, *_ = await desk.document("a")
        return heard and before != after

    assert asyncio.run(scene())


@pytest.mark.parametrize(
    ("news", "differs"),
    [
        ([{"kind": "document", "system": "own"}], True),
        ([{"kind": "system", "id": "own"}], True),
        ([{"kind": "agent", "system": "own"}], False),
        ([{"kind": "resync"}], False),
        ([{"kind": "agent", "system": "own"}, {"kind": "document", "system": "own"}], True),
        ([{"kind": "document", "system": "own"}, {"kind": "agent", "system": "another"}], True),
    ],
)
def test_a_desk_waits_for_news_of_its_own_system(monkeypatch, news, differs):
    monkeypatch.setattr(desks, "RECHECK_S", 60.0)
    strange = [
        {"kind": "document", "system": "another"},
        {"kind": "system", "id": "another"},
        {"kind": "agent", "system": "another"},
        {"kind": "run", "system": "own"},
    ]

    async def scene() -> tuple[bool, int]:
        desk = Desk(1, uuid.uuid4())
        queue: asyncio.Queue[str] = asyncio.Queue()
        hearing = asyncio.create_task(desk._news(queue))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not hearing.done(), "there were no news yet"
        for one in strange:
            queue.put_nowait(json.dumps(one))
        while not queue.empty():
            await asyncio.sleep(0)
        assert not hearing.done(), "they are not about this system"
        for one in news:
            queue.put_nowait(json.dumps(one).replace("own", desk.system_id))
        return await hearing, queue.qsize()

    assert asyncio.run(scene()) == (differs, 0)


def test_without_news_a_desk_reads_only_what_has_another_stamp(monkeypatch):
    first, older = Stamp(2, 1, 1, 1, 1), Stamp(1, 1, 1, 1, 1)
    stamps = iter([first, first, older, None])
    looks = iter([(first, facts()), (older, facts(system="bay")), (older, facts(system="sea"))])
    monkeypatch.setattr(desks, "stamp_of", lambda _: next(stamps))
    monkeypatch.setattr(desks, "facts_of", lambda *_: next(looks))

    async def scene() -> list[str]:
        desk, systems = Desk(1, uuid.uuid4()), []
        for told in (False, False, False, True):
            await desk._look(told=told)
            systems.append(json.loads((await desk.document("a"))[2])["system"])
        with pytest.raises(SystemGone):
            await desk._look(told=False)
        return systems

    assert asyncio.run(scene()) == ["harbour", "harbour", "bay", "sea"]
