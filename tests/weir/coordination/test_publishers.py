"""Whom brokers let in: nobody at two at once, however slowly agents follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from weir.coordination.publishers import Lists, let_in
from weir.coordination.wire import publishers_digest
from weir.placement.handover import Part, handover_steps

BROKERS = "abc"
some_names = st.frozensets(st.sampled_from("pqr"))
some_lists = st.one_of(
    st.none(), some_names.map(lambda publishers: {"publishers": sorted(publishers)})
)


def listed(value: Any) -> set[str]:
    return set() if value is None else set(value["publishers"])


@given(
    rows=st.dictionaries(st.sampled_from(BROKERS), st.tuples(some_lists, some_lists)),
    claims=st.lists(st.tuples(st.sampled_from(BROKERS), some_lists, some_lists), max_size=3),
)
@settings(deadline=None)
def test_nobody_is_let_in_at_two_brokers_whatever_is_asked_for(rows, claims) -> None:
    lists = Lists()
    for broker, (in_force, desired) in rows.items():
        lists.add("f", broker, in_force, desired)
    for broker, before, after in claims:
        lists.claim("f", broker, before, after)
    entries = let_in(lists, {"f"}, {"a": {"f"}}, {}).get("f", {})
    every = [name for publishers in entries.values() for name in publishers]
    assert len(every) == len(set(every))
    for broker, publishers in entries.items():
        in_force, desired = rows.get(broker, (None, None))
        assert publishers <= listed(desired)
        others = [value for other, pair in rows.items() if other != broker for value in pair]
        for name in publishers - listed(in_force):
            assert not any(name in listed(value) for value in others)


@dataclass
class Broker:
    """A list as the control plane has it, and whom the agent lets in by what it has read last."""

    in_force: Any
    desired: Any
    under_way: list[tuple[Any, Any]] = field(default_factory=list)
    wanted: Any = None
    """What confirms the action under way."""
    here: frozenset[str] = frozenset()
    has_read: bool = False
    """It has read a document since the action was asked for, or given up."""


class System:
    """A control plane that carries out lists, and agents that read documents when they like."""

    def __init__(self, lists: dict[str, frozenset[str]]) -> None:
        self.brokers = {name: self._broker(lists.get(name)) for name in BROKERS}
        for name in BROKERS:
            self.read(name)

    @staticmethod
    def _broker(names: frozenset[str] | None) -> Broker:
        value = None if names is None else {"publishers": sorted(names)}
        return Broker(in_force=value, desired=value)

    def read(self, name: str) -> None:
        lists = Lists()
        for broker, row in self.brokers.items():
            lists.add("f", broker, row.in_force, row.desired)
            for before, after in row.under_way:
                lists.claim("f", broker, before, after)
        entries = let_in(lists, {"f"}, {broker: {"f"} for broker in BROKERS}, {})["f"]
        self.brokers[name].here = entries[name]
        self.brokers[name].has_read = True
        every = [p for row in self.brokers.values() for p in row.here]
        assert len(every) == len(set(every)), "somebody is let in at two brokers"

    def ask(self, name: str, before: Any, after: Any) -> None:
        row = self.brokers[name]
        assert row.in_force == before
        row.desired = row.wanted = after
        row.under_way, row.has_read = [(before, after)], False

    def give_up(self, name: str) -> None:
        row = self.brokers[name]
        row.desired = row.wanted = row.in_force
        row.has_read = False

    def confirmed(self, name: str) -> bool:
        """The agent shows what is wanted, so the action ends; False: not yet."""
        row = self.brokers[name]
        if not row.has_read or publishers_digest(row.here) != publishers_digest(listed(row.wanted)):
            return False
        row.in_force, row.under_way = row.desired, []
        return True


assignments = st.dictionaries(st.sampled_from("pqrs"), st.sampled_from(BROKERS), min_size=1)


def lists_of(assigned: dict[str, str]) -> dict[str, frozenset[str]]:
    return {
        broker: frozenset(name for name, at in assigned.items() if at == broker)
        for broker in sorted(set(assigned.values()))
    }


def value(names: frozenset[str] | None) -> Any:
    return None if names is None else {"publishers": sorted(names)}


@given(assignments, assignments, st.data())
@settings(deadline=None, max_examples=200)
def test_publishers_move_without_ever_being_let_in_twice(was, shall, data) -> None:
    before, after = lists_of(was), lists_of(shall)
    part = Part(rate_per_s=1.0, size=1.0)
    steps = handover_steps(
        (dict.fromkeys(before, part), dict.fromkeys(after, part)), (before, after), staying={}
    )
    system = System(before)
    way = [
        {broker: (value(old), value(new)) for broker, (old, new) in step.lists.items()}
        for step in steps
        if step.lists
    ]
    done: list[dict[str, tuple[Any, Any]]] = []
    forward = True
    while way:
        step, *way = way
        gives_up = forward and data.draw(st.booleans(), label="gives up")
        followed = carry_out(system, step, gives_up, data)
        done.append(followed)
        if gives_up:
            forward = False
            way = [
                {broker: (new, old) for broker, (old, new) in each.items()}
                for each in reversed(done)
            ]
    for broker in BROKERS:
        system.read(broker)
    end = {name: row.here for name, row in system.brokers.items() if row.here}
    assert end == {name: names for name, names in (after if forward else before).items() if names}


def carry_out(system: System, step: Any, gives_up: bool, data: st.DataObject) -> dict[str, Any]:
    """Carry the step out; agents read and confirm in any order. Returns what was confirmed; what
    was not when the step is given up is as before."""
    for broker, (before, after) in step.items():
        system.ask(broker, before, after)
    waiting, followed, stops = dict(step), {}, data.draw(st.integers(0, 4))
    for turn in range(20):
        if not waiting:
            break
        if gives_up and turn == stops:
            for broker in waiting:
                system.give_up(broker)
            for broker in data.draw(st.permutations(sorted(waiting))):
                system.read(broker)
                assert system.confirmed(broker)
            return followed
        system.read(data.draw(st.sampled_from(BROKERS), label="reads"))
        for broker in sorted(waiting):
            if system.confirmed(broker):
                followed[broker] = waiting.pop(broker)
    for broker in sorted(waiting):
        system.read(broker)
        assert system.confirmed(broker)
    return {**followed, **waiting}
