"""Read what waits for a person, and what they should know."""

from datetime import datetime

from django.db.models import Q, QuerySet

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.accounts.selectors import account_control
from apps.inbox.domain.items import AUDIENCE, ItemKind
from apps.inbox.models import Item
from apps.plans.models import Plan
from apps.plans.selectors.approvals import may_judge
from weir.lifecycle.plans import PlanState


def inbox_of(person: User, permissions: frozenset[Permission], now: datetime) -> list[Item]:
    """Return the items of a person with these permissions: first what waits, the longest first;
    then what they should know, the newest first."""
    items = list(_called(person, permissions))
    judged = [one.about for one in items if one.kind == ItemKind.PLAN_TO_REVIEW]
    if judged:
        mine = _to_judge(judged, person, now)
        items = [one for one in items if one.kind != ItemKind.PLAN_TO_REVIEW or one.about in mine]
    waiting = sorted((one for one in items if one.waits), key=_waits_since)
    known = sorted((one for one in items if not one.waits), key=lambda one: one.since, reverse=True)
    return waiting + known


def _waits_since(item: Item) -> datetime:
    return item.waits_since or item.since


def _called(person: User, permissions: frozenset[Permission]) -> QuerySet[Item]:
    kinds = [kind for kind, audience in AUDIENCE.items() if audience & permissions]
    calls = Q(kind__in=kinds)
    if Permission.PROPOSE_PLAN in permissions:
        calls |= Q(person=person)
    return Item.objects.filter(calls, ended_at=None).select_related("system")


def _to_judge(plans: list[str], person: User, now: datetime) -> frozenset[str]:
    """Return which of these plans the person may still judge."""
    control = account_control(person.pk)
    rows = (
        Plan.objects.filter(public_id__in=plans, state=PlanState.PENDING_REVIEW)
        .select_related("system", "execution")
        .prefetch_related("approvals__person")
        .defer("document", "blast_radius")
    )
    return frozenset(str(row.public_id) for row in rows if may_judge(row, person, control, now))
