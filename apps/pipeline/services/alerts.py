"""Keep how objectives stand and what people are called for, and record each change once.

Both are stored with the term, in the transaction that writes the entry of the history; inbox and
webhooks follow these.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from apps.audit.models import AuditEntry
from apps.audit.services import entry, record_all
from apps.catalog.models import Slo
from apps.common.formatting import counted, percent
from apps.pipeline.domain.alerts import AlertAction, CallChange, Calls, call_changes, calls_after
from apps.pipeline.domain.error_budget import Severity
from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.models import ObjectiveTerm
from apps.pipeline.selectors.objectives import SloReading, slo_readings
from apps.systems.models import System

_STANDS = ("standing", "stood_s", "alert", "fired_s", "spent_s")


def alerts_keep(
    system: System, terms: Sequence[ObjectiveTerm], touched: Collection[int], now_s: int
) -> int:
    """Store how objectives stand now, of those that are `touched`, by their keys, and of all once a
    minute; return how many stand otherwise than before.

    In a transaction that has judged. What would be recorded while the system is being edited waits
    for the next pass: entries of an object are written under the lock of its system.
    """
    minute_s = now_s // MINUTE_S * MINUTE_S
    due = {term.slo_id: term for term in terms if term.slo_id in touched or term.stood_s < minute_s}
    slos = list(Slo.objects.filter(pk__in=due).select_related("topic").order_by("pk"))
    entries: list[AuditEntry] = []
    kept: list[ObjectiveTerm] = []
    count = 0
    for reading in slo_readings(slos, datetime.fromtimestamp(now_s, UTC)):
        if reading.since is None:
            # It was edited a moment ago.
            continue
        term = due[reading.slo.pk]
        before, after = _calls(term), _next(term, reading)
        changes = list(call_changes(before, after))
        if changes and not _is_ours(system):
            continue
        entries += [_entry(system, reading, change) for change in changes]
        standing = reading.compliance.standing
        count += bool(changes) or standing != term.standing
        term.standing, term.stood_s, term.alert = standing, minute_s, after.alert or ""
        term.fired_s, term.spent_s = list(after.fired_s), after.spent_s
        kept.append(term)
    ObjectiveTerm.objects.bulk_update(kept, _STANDS)
    record_all(entries)
    return count


def _is_ours(system: System) -> bool:
    """Lock the system as an edit does, unless somebody has it: who waited here with rows of its
    objectives would wait in a circle."""
    rows = System.objects.select_for_update(no_key=True, skip_locked=True)
    return rows.filter(pk=system.pk).first() is not None


def _calls(term: ObjectiveTerm) -> Calls:
    if not term.fired_s:
        return Calls(spent_s=term.spent_s)
    return Calls(fired_s=tuple(term.fired_s), spent_s=term.spent_s)


def _next(term: ObjectiveTerm, reading: SloReading) -> Calls:
    until_s = int(reading.until.timestamp())
    return calls_after(_calls(term), reading.compliance, since_s=term.since_s, until_s=until_s)


def _entry(system: System, reading: SloReading, change: CallChange) -> AuditEntry:
    return entry(
        actor=None,
        action=change.action.value,
        object_kind=Slo.audited_as(),
        object_id=reading.slo.public_id,
        object_name=reading.slo.name,
        system_id=system.public_id,
        before=change.before,
        after=change.after,
        reason=_reason(reading, change),
    )


def _reason(reading: SloReading, change: CallChange) -> str:
    held = reading.compliance
    if change.action == AlertAction.BURN:
        severity = Severity(change.after["alert"])
        burn = next(burn for burn in held.burns if burn.severity == severity and burn.fires)
        return (
            f"The budget burns at {burn.long_burn:.1f} over {burn.long_minutes} min and at "
            f"{burn.short_burn:.1f} over {burn.short_minutes} min, above {burn.threshold:g}."
        )
    missed = counted(held.counted.missed, "minute was", "minutes were")
    if change.action == AlertAction.SPEND_BUDGET:
        return f"{missed} missed of {held.budget_minutes:g} that may be."
    if held.budget_left is None:
        return "No minute of its window was measured."
    return f"{percent(held.budget_left)} of the budget is left."
