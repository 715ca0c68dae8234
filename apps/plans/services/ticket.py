"""Name the change record that a plan has elsewhere. It is no part of what people approve."""

from datetime import datetime

from apps.accounts.models import User
from apps.plans.models import Plan
from apps.plans.selectors.versions import UPDATE
from apps.plans.services.settle import settle_row
from apps.plans.services.transitions import as_seen, tell


def plan_set_ticket(
    *, plan: Plan, actor: User, change_ticket: str, expected_version: int | None = None
) -> Plan:
    """Set the ticket of a plan in any state; no decision ends with it. The same changes nothing."""

    def command(row: Plan, now: datetime) -> Plan:
        former = row.change_ticket
        if change_ticket == former:
            return row
        row.change_ticket = change_ticket
        # Not `updated_at`: of a plan that came back it says when it did.
        row.save(update_fields=["change_ticket"])
        tell(
            row,
            UPDATE,
            actor=actor,
            title="named its change ticket" if change_ticket else "took its change ticket away",
            note=change_ticket or former,
            before={"change_ticket": former},
            after={"change_ticket": change_ticket},
        )
        return row

    return as_seen(plan, expected_version, settle_row, command)
