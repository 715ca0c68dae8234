"""Ask for parts of a bucket that move at run time, and know what brokers may hold meanwhile.

`Setting.in_force` stays what was approved, `controlled` is what a broker is asked for instead, and
`may_hold` the most that it may enforce since it last confirmed what is asked; the rules are those
of `weir.placement.ledger`. Whoever changes a part, an execution or adaptation, first locks every
part of the flow, so that each change is made of the ledger as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from apps.common.events import publish
from apps.executions.models import Setting
from apps.executions.services.documents import bucket_of, revision_bump
from apps.systems.models import System
from apps.telemetry.selectors import agents_of
from weir.actions.set_bucket import ENFORCE
from weir.actions.set_bucket import KIND as BUCKET
from weir.coordination.wire import Observed, observed_from_dict
from weir.placement import ledger
from weir.placement.handover import NOTHING, Part
from weir.placement.ledger import UNBOUNDED, Entry

COLUMNS = ("controlled", "may_hold", "asked_number", "updated_at")


class ExceedsContract(Exception):
    """Signal that brokers could hold more than the contract if they were asked for these parts."""


def rows_locked(system: System, flow: str) -> list[Setting]:
    """Return the settings of every part of the flow, locked until the transaction ends."""
    rows = Setting.objects.filter(system=system, kind=BUCKET, target__flow=flow)
    while True:
        locked = list(rows.select_for_update().order_by("id"))
        # Who adds a part holds the locks of the others: a second look sees what it has added.
        if {row.pk for row in locked} == set(rows.order_by().values_list("pk", flat=True)):
            return locked


def entry_of(row: Setting) -> Entry:
    """Return what is known of one broker's part."""
    return Entry(
        asked=ledger.bound_of(_part(asked_of(row))),
        in_force=ledger.bound_of(_part(row.in_force)),
        wanted=ledger.bound_of(_part(row.desired)),
        may_hold=_bound_from(row.may_hold),
    )


def asked_of(row: Setting) -> Any:
    """Return the value that the broker's agent is asked for now; None: no part."""
    return row.desired if row.controlled is None else row.controlled


def is_shown(seen: Observed, row: Setting) -> bool:
    """Return whether the agent shows what is asked for now, by a document that asks for it."""
    return seen.number >= row.asked_number and part_shown(seen, row.target["flow"], asked_of(row))


def part_shown(seen: Observed, flow: str, value: Mapping[str, Any] | None) -> bool:
    """Return whether the agent sees exactly this part of the flow's bucket in force."""
    part = seen.buckets.get(flow)
    if value is None:
        # A flow's source without a part is closed as long as others have one.
        return part is None or part.rate_per_s == 0
    return part == bucket_of(value)


def rows_settle(system: System, rows: Iterable[Setting]) -> list[Setting]:
    """Take note of what agents show of these parts, which are locked; return those confirmed."""
    waiting = {row.target["broker"]: row for row in rows if row.may_hold is not None}
    if not waiting:
        return []
    seen = agents_of(system).filter(broker__name__in=waiting, observed__isnull=False)
    settled = []
    for broker, observed in seen.values_list("broker__name", "observed"):
        if is_shown(observed_from_dict(observed), waiting[broker]):
            waiting[broker].may_hold = None
            settled.append(waiting[broker])
    return settled


def why_not_grown(row: Setting, rows: Iterable[Setting]) -> str:
    """Say for whom a part waits that an execution wants larger; empty where it waits for nobody."""
    if row.controlled is None or row.controlled == row.desired:
        return ""
    entries = [(each.target["broker"], entry_of(each)) for each in rows]
    holding = [
        b for b, entry in entries if ledger.larger(entry.most, entry.ordinary) != entry.ordinary
    ]
    if not holding:
        return ""
    have = "has" if len(holding) == 1 else "have"
    return (
        f"no part of {row.target['flow']} grows before {', '.join(sorted(holding))} {have} "
        "confirmed a smaller one"
    )


def part_ask(row: Setting, rows: list[Setting], after: dict[str, Any] | None) -> list[Setting]:
    """Have an execution ask for another part of a flow whose parts are these rows.

    Where parts have moved, none grows before all have shrunk to those in force: whoever restores
    them ends that (`FlowParts.restore`). Returns the other rows that ask for less now.
    """
    before = entry_of(row)
    moved = any(each.controlled is not None for each in rows)
    row.desired, row.controlled = after, None
    wants = entry_of(row)
    # A plan that was given up may have left more than it knows of with a silent broker.
    ledger_now = {each.target["broker"]: entry_of(each) for each in (*rows, row)}
    if not moved and ledger.may_return(ledger_now):
        row.may_hold = _bound_to(ledger.larger(before.most, wants.asked))
        return []
    least = ledger.smaller(before.capped, wants.asked)
    row.controlled = None if after is None or least == UNBOUNDED else value_of(least)
    row.may_hold = _bound_to(ledger.larger(before.most, least))
    others = [each for each in rows if each is not row]
    return [each for each in others if _cap(each)]


def part_prove(row: Setting) -> None:
    """Record in the ledger that the broker has shown the part that its plan wants."""
    if asked_of(row) == row.desired:
        row.may_hold = None


def part_give_up(row: Setting, rows: list[Setting]) -> None:
    """Have an execution ask for the part in force again; for less, where parts of the flow, which
    are these rows, have moved."""
    before = entry_of(row)
    row.desired = row.in_force
    least = ledger.smaller(before.asked, before.in_force)
    moved = any(each.controlled is not None for each in rows)
    capped = moved and row.in_force is not None and least != UNBOUNDED
    row.controlled = value_of(least) if capped else None
    row.may_hold = _bound_to(ledger.larger(before.most, entry_of(row).asked))


def parts_doubt(rows: Collection[Setting], number: int) -> None:
    """Count on nothing that brokers enforce of these parts until they have confirmed what is asked
    by the documents of this number: the database has gone back, they may hold more than it knows.
    """
    for row in rows:
        row.may_hold, row.asked_number = _bound_to(UNBOUNDED), number
    Setting.objects.bulk_update(rows, ["may_hold", "asked_number"])


def every_part_locked(system: System) -> list[Setting]:
    """Return the settings of every part that is in force or asked for, of any flow, locked."""
    rows = Setting.objects.select_for_update().filter(system=system, kind=BUCKET)
    return list(rows.exclude(in_force=None, desired=None).order_by("id"))


class FlowParts:
    """Hold the parts of one flow, locked; `save` writes what changed and sends documents."""

    def __init__(self, flow: str, rows: Iterable[Setting]) -> None:
        self.flow = flow
        self.rows = {row.target["broker"]: row for row in rows}
        self._settled: dict[str, Setting] = {}
        self._asked: dict[str, Setting] = {}

    @classmethod
    def locked(cls, system: System, flow: str) -> FlowParts:
        """Return the parts, locked until the transaction ends."""
        return cls(flow, rows_locked(system, flow))

    @property
    def entries(self) -> dict[str, Entry]:
        """Return the ledger, by broker."""
        return {broker: entry_of(row) for broker, row in self.rows.items()}

    @property
    def enforced(self) -> dict[str, Part]:
        """Return the parts in force that let something in and hold the rest, by broker."""
        parts = {broker: _part(row.in_force) for broker, row in self.rows.items()}
        return {
            broker: part
            for broker, part in parts.items()
            if part is not None and part.rate_per_s > 0 and not part.count_only
        }

    @property
    def contract(self) -> Part:
        """Return the rate and size that brokers may enforce together."""
        return ledger.total(self.enforced.values())

    @property
    def have_moved(self) -> bool:
        """Return whether a broker is asked for something else than its plan says."""
        return any(row.controlled is not None for row in self.rows.values())

    @property
    def are_settled(self) -> bool:
        """Return whether no plan wants another part than that in force."""
        return all(row.desired == row.in_force for row in self.rows.values())

    @property
    def unconfirmed(self) -> list[str]:
        """Return the brokers that may hold something else than they are asked for, sorted."""
        return sorted(broker for broker, row in self.rows.items() if row.may_hold is not None)

    def settle(self, system: System) -> None:
        """Take note of what agents show."""
        self._settled |= {
            row.target["broker"]: row for row in rows_settle(system, self.rows.values())
        }

    def ask(self, parts: Mapping[str, Part]) -> None:
        """Ask brokers for other parts than those in force.

        Raises ExceedsContract where they could then hold more than the contract together.
        """
        if not ledger.fits(self.entries, parts, self.contract):
            raise ExceedsContract(
                f"the parts of {self.flow} would exceed the contract {self.contract}"
            )
        for broker, part in parts.items():
            row = self.rows[broker]
            if _ask(row, part) or row.controlled is None:
                row.controlled = value_of(part)
                self._asked[broker] = row

    @property
    def is_capped(self) -> bool:
        """Return whether no broker is asked for more than is in force, or than its plan wants."""
        return all(entry.capped == entry.asked for entry in self.entries.values())

    def cap(self) -> None:
        """Ask for no more than is in force, nor than a plan wants; nothing grows by it."""
        for broker, row in self.rows.items():
            if _cap(row):
                self._asked[broker] = row

    def restore(self) -> bool:
        """Ask for what plans say again. False, and nothing is done, while a broker may hold more
        than that."""
        if not ledger.may_return(self.entries):
            return False
        for broker, row in self.rows.items():
            if row.controlled is not None:
                before = entry_of(row)
                row.controlled = None
                if entry_of(row).asked != before.asked:
                    row.may_hold = _bound_to(ledger.larger(before.most, entry_of(row).asked))
                self._asked[broker] = row
        return True

    @property
    def are_asked_anew(self) -> bool:
        """Return whether brokers are asked for something else, which needs a number."""
        return bool(self._asked)

    def take_number(self, number: int) -> None:
        """Let only documents of this number, or later ones, confirm what is asked anew."""
        for row in self._asked.values():
            row.asked_number = number
        self._settled |= self._asked
        self._asked = {}

    def save(self, system: System) -> None:
        """Write what changed, and send the documents that ask for it."""
        if self.are_asked_anew:
            self.take_number(revision_bump(system))
            publish("document", system=system.public_id)
        if self._settled:
            # All rows are there, and locked: far cheaper than a CASE for each row and column.
            Setting.objects.bulk_create(
                self._settled.values(),
                update_conflicts=True,
                unique_fields=["system", "kind", "target_key"],
                update_fields=COLUMNS,
            )
        self._settled = {}


def _cap(row: Setting) -> bool:
    """Ask for the smallest of what is asked, in force and wanted; return whether that is less."""
    entry = entry_of(row)
    if row.desired is None or not _ask(row, entry.capped):
        return False
    row.controlled = value_of(entry.capped)
    return True


def _ask(row: Setting, part: Part) -> bool:
    """Enter in the ledger that the broker is asked for the part; return whether it is another."""
    before = entry_of(row)
    if part == before.asked:
        return False
    after = before.asking(part)
    row.may_hold = None if after.may_hold is None else _bound_to(after.may_hold)
    return True


def _part(value: Mapping[str, Any] | None) -> Part | None:
    if value is None:
        return None
    return Part(
        rate_per_s=value["rate_per_s"],
        size=value["size"],
        count_only=value["mode"] != ENFORCE,
    )


def value_of(part: Part) -> dict[str, Any]:
    """Return an enforced part as an action asks for it."""
    if 0 in (part.rate_per_s, part.size):
        part = NOTHING
    return {"rate_per_s": part.rate_per_s, "size": part.size, "mode": ENFORCE}


def _bound_to(part: Part) -> dict[str, float | None]:
    """Return a bound as it is stored: JSON has no infinity, so null stands for it."""
    return {
        "rate_per_s": part.rate_per_s if math.isfinite(part.rate_per_s) else None,
        "size": part.size if math.isfinite(part.size) else None,
    }


def _bound_from(stored: Mapping[str, float | None] | None) -> Part | None:
    if stored is None:
        return None
    rate_per_s, size = stored["rate_per_s"], stored["size"]
    return Part(
        rate_per_s=math.inf if rate_per_s is None else rate_per_s,
        size=math.inf if size is None else size,
    )
