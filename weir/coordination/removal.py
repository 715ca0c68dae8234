"""Roles of `remove_broker`: the tree closes over brokers that are gone, without their vote.

| role | who |
|---|---|
| `gone1`, ... | brokers that are gone for good, linked with each other; asked nothing |
| `n1` | a neighbour of theirs |
| `n2/n1` | the second neighbour; it gets a link to the first |
| `n3/n1` or `n3/n2` | the third, with a link to one of those before it; and so on |

So the names of the roles hold the links that come, and whatever they say is a tree. Each part of
the overlay that the gone brokers leave behind has one neighbour in the action.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

KIND = "remove_broker"

_GONE = re.compile(r"gone[1-9]\d{0,3}")
_NEIGHBOUR = re.compile(r"n([1-9]\d{0,3})(?:/n([1-9]\d{0,3}))?")


def is_gone(role: str) -> bool:
    """Return whether the broker in this role takes no part because it is gone."""
    return _GONE.fullmatch(role) is not None


def gone_role(number: int) -> str:
    """Return the role of the gone broker with this number, from 1."""
    return f"gone{number}"


def neighbour_role(number: int, to: int | None) -> str:
    """The role of the neighbour with this number, from 1; `to`: the number it is linked to."""
    return f"n{number}" if to is None else f"n{number}/n{to}"


def misfit(roles: Iterable[str]) -> str:
    """Say why these are not the roles of one removal; empty when they are."""
    numbers: dict[int, int | None] = {}
    gone = 0
    for role in roles:
        if is_gone(role):
            gone += 1
            continue
        parts = _NEIGHBOUR.fullmatch(role)
        if parts is None:
            return f"{role} is neither a neighbour nor gone"
        number = int(parts[1])
        if number in numbers:
            return f"n{number} is there twice"
        numbers[number] = None if parts[2] is None else int(parts[2])
    if not gone:
        return "nobody is gone"
    if sorted(numbers) != list(range(1, len(numbers) + 1)):
        return "neighbours are numbered n1, n2 and so on"
    for number, to in numbers.items():
        if number == 1 and to is not None:
            return "n1 is the first and linked to nobody before it"
        if number > 1 and (to is None or to >= number):
            return f"n{number} needs a link to a neighbour before it, such as n{number}/n1"
    return ""


def links(roles: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the new links, as pairs of roles."""
    by_head = {role.partition("/")[0]: role for role in roles}
    return tuple(
        (role, by_head[to])
        for role in by_head.values()
        if (to := role.partition("/")[2]) and to in by_head
    )


def linked_to(role: str, roles: Iterable[str]) -> tuple[str, ...]:
    """Return the roles to which `role` gets a link, sorted."""
    return tuple(sorted(b if a == role else a for a, b in links(roles) if role in (a, b)))


def beyond(role: str, other: str, roles: Iterable[str]) -> tuple[str, ...]:
    """Return the roles that `role` reaches over its new link to `other`, sorted."""
    every = links(roles)
    reached, todo = {role, other}, [other]
    while todo:
        here = todo.pop()
        for pair in every:
            for there in pair:
                if here in pair and there not in reached:
                    reached.add(there)
                    todo.append(there)
    return tuple(sorted(reached - {role}))
