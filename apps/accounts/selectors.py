"""Whose hands an account is in.

Somebody who set the password of an account can sign in as it. Whoever made somebody an approver
chose the judge. Both are followed from giver to giver: an account made by an account that I made
is mine too. Only the latest giver counts, so another administrator ends it by setting a new
password and by granting the role anew.
"""

from dataclasses import dataclass

from apps.accounts.domain.roles import Role
from apps.accounts.models import AccountGrant

MAKES_A_JUDGE = frozenset({AccountGrant.PASSWORD, Role.APPROVER.value, Role.ADMIN.value})
LETS_IN = frozenset({AccountGrant.PASSWORD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """One person's place among those who made each other's accounts."""

    makers: frozenset[int]
    """Who made this person a judge, directly or through others."""
    held: frozenset[int]
    """As whom this person can sign in."""
    holders: frozenset[int]
    """Who can sign in as this person."""

    @property
    def one_pair_of_eyes(self) -> frozenset[int]:
        """Accounts that may be this very person's, or whose this one may be."""
        return self.held | self.holders


def hands_of(person_id: int) -> Hands:
    """Read now, in one query; people can only be made as often as there are accounts."""
    rows = list(
        AccountGrant.objects.filter(what__in=list(MAKES_A_JUDGE), by__isnull=False).values_list(
            "person_id", "by_id", "what"
        )
    )
    upwards = [(to, by) for to, by, _ in rows if by is not None]
    downwards = [(by, to) for to, by, what in rows if by is not None and what in LETS_IN]
    return Hands(
        makers=_closure(person_id, upwards),
        held=_closure(person_id, downwards),
        holders=_closure(person_id, [(to, by) for by, to in downwards]),
    )


def _closure(start: int, edges: list[tuple[int, int]]) -> frozenset[int]:
    following: dict[int, set[int]] = {}
    for a, b in edges:
        following.setdefault(a, set()).add(b)
    reached, waiting = {start}, [start]
    while waiting:
        for other in following.get(waiting.pop(), set()) - reached:
            reached.add(other)
            waiting.append(other)
    return frozenset(reached - {start})
