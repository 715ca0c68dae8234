"""Decide which publishers of a flow each broker lets in, by lists asked for, proved and under way.

A publisher is let in at one broker at most. `let_in` keeps to that whatever lists are asked for,
and in whatever order they are confirmed, aborted or taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

Listed = Mapping[str, Any] | None
"""The value of a setting `assign_publishers`; None: no list."""


class Lists:
    """The lists of publishers of a system: those asked for, and who may be let in where."""

    def __init__(self) -> None:
        self.desired: dict[str, dict[str, frozenset[str]]] = {}
        """Flow -> broker -> whom it shall let in."""
        self.present: dict[str, dict[str, frozenset[str]]] = {}
        """Flow -> broker -> whom it has been proved to let in; it may be about to release them."""
        self.claims: dict[str, dict[str, set[str]]] = {}
        """Flow -> broker -> whom it may let in now: by what is asked for, by what is in force, by
        what an action under way begins with or leads to."""
        self.brokers: dict[str, set[str]] = {}
        """Flow -> brokers that have, or have had, a list."""

    def add(self, flow: str, broker: str, in_force: Listed, desired: Listed) -> None:
        """Add the setting of a flow at a broker."""
        self.claim(flow, broker, in_force, desired)
        self.brokers.setdefault(flow, set()).add(broker)
        for value, lists in ((in_force, self.present), (desired, self.desired)):
            if value is not None:
                lists.setdefault(flow, {})[broker] = frozenset(value["publishers"])

    def claim(self, flow: str, broker: str, *values: Listed) -> None:
        """Add publishers that the broker may let in."""
        names = self.claims.setdefault(flow, {}).setdefault(broker, set())
        for value in values:
            names.update(() if value is None else value["publishers"])


def let_in(
    lists: Lists,
    carried: Collection[str],
    ingress: Mapping[str, Collection[str]],
    buckets: Mapping[str, Collection[str]],
) -> dict[str, dict[str, frozenset[str]]]:
    """Return whom each broker lets in of each flow that has lists.

    Nobody is let in where another broker may still let it in, whatever is asked for: it is once
    that one is proved to have released it. Of the brokers of a flow, those without a list let
    nobody in. Flows that are carried no more are left out.
    """
    allowed: dict[str, dict[str, frozenset[str]]] = {}
    for flow in sorted(lists.desired.keys() & set(carried)):
        desired, present = lists.desired[flow], lists.present.get(flow, {})
        # A list that ends keeps its entry, so that whoever it named is seen to have left.
        brokers = {*desired, *present}
        brokers |= {broker for broker, flows in ingress.items() if flow in flows}
        brokers |= {broker for broker, flows in buckets.items() if flow in flows}
        claims = lists.claims[flow]
        counts = Counter(name for names in claims.values() for name in names)
        proved = Counter(name for names in present.values() for name in names)
        allowed[flow] = {}
        for broker in sorted(brokers):
            claimed, kept = claims.get(broker, set()), present.get(broker, frozenset())
            allowed[flow][broker] = frozenset(
                name
                for name in desired.get(broker, frozenset())
                # A broker that had it before others asked for it has not lost it to them.
                if counts[name] == (name in claimed) or (name in kept and proved[name] == 1)
            )
    return allowed


def released(
    lists: Lists, allowed: Mapping[str, Mapping[str, Collection[str]]]
) -> dict[str, frozenset[str]]:
    """Return, of each flow with lists, the brokers that had one and belong to it no more.

    Publishers may still be connected there, and are shown where they belong. Nothing of the flow
    passes these brokers, so nobody waits for them.
    """
    return {
        flow: frozenset(lists.brokers[flow] - brokers.keys()) for flow, brokers in allowed.items()
    }


def left_behind(
    lists: Lists, carried: Collection[str], ingress: Mapping[str, Collection[str]]
) -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    """Return, of each flow whose lists have all ended, the brokers with former lists where it does
    not enter any more, and those where it does.

    Publishers may still be at the former: they are shown where to go on.
    """
    left = {}
    for flow in sorted((lists.brokers.keys() - lists.desired.keys()) & set(carried)):
        enters = {broker for broker, flows in ingress.items() if flow in flows}
        former = frozenset(lists.brokers[flow] - enters)
        if enters and former:
            left[flow] = former, tuple(sorted(enters))
    return left
