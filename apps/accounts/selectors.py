"""Find out which accounts one person may control.

Whoever set the password of an account can sign in as it. Whoever made somebody an approver chose
the approver. Both are followed from giver to giver: an account made by an account that a person
made is controlled by that person too. Only the latest giver counts, so another administrator ends
it by setting a new password and by granting the role again.
"""

from dataclasses import dataclass

import networkx as nx

from apps.accounts.domain.roles import Role
from apps.accounts.models import AccountGrant

MAKES_A_JUDGE = frozenset({AccountGrant.PASSWORD, Role.APPROVER.value, Role.ADMIN.value})
LETS_IN = frozenset({AccountGrant.PASSWORD})


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountControl:
    """Describe who controls a person's account, and which accounts the person controls."""

    makers: frozenset[int]
    """Accounts that made this person an approver, directly or through others."""
    controlled: frozenset[int]
    """Accounts as which this person can sign in."""
    controllers: frozenset[int]
    """Accounts that can sign in as this person."""

    @property
    def same_person(self) -> frozenset[int]:
        """Return the accounts that may be this very person's, or whose owner may use this one."""
        return self.controlled | self.controllers


def account_control(person_id: int) -> AccountControl:
    """Return who controls whom, read in one query."""
    rows = list(
        AccountGrant.objects.filter(what__in=list(MAKES_A_JUDGE), by__isnull=False).values_list(
            "person_id", "by_id", "what"
        )
    )
    upwards = [(to, by) for to, by, _ in rows if by is not None]
    downwards = [(by, to) for to, by, what in rows if by is not None and what in LETS_IN]
    return AccountControl(
        makers=_closure(person_id, upwards),
        controlled=_closure(person_id, downwards),
        controllers=_closure(person_id, [(to, by) for by, to in downwards]),
    )


def _closure(start: int, edges: list[tuple[int, int]]) -> frozenset[int]:
    graph: nx.DiGraph[int] = nx.DiGraph(edges)
    return frozenset(nx.descendants(graph, start)) if start in graph else frozenset()
