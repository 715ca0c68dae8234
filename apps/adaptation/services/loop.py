"""Let parts of buckets follow the traffic, in a loop of the coordinator.

All state is in the database, and every change of parts is one transaction under the locks of all
parts of the flow: a process that dies in the middle has done nothing, and the next one goes on.

    shrinking  smaller parts are asked for; larger ones once nobody may hold too much
    growing    all parts are asked for as decided; brokers have yet to confirm
    done, given_up

What has begun is finished whatever a maintenance window says, as with steps of a plan; it only
keeps decisions from beginning. Who stops an adaptation wants the approved parts back now.
"""

import logging
import math
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from apps.adaptation.domain import sentences
from apps.adaptation.domain.times import GIVE_UP, is_within
from apps.adaptation.models import (
    KEEP_DECISIONS,
    UNDER_WAY_NAMES,
    Decision,
    DecisionCause,
)
from apps.adaptation.selectors.history import History, Measurements, measurements
from apps.adaptation.selectors.orders import (
    Concern,
    Order,
    changed_at,
    concerns,
    order_in_force,
    order_of,
)
from apps.adaptation.selectors.standing import surroundings_of
from apps.adaptation.services.commands import stops_end
from apps.adaptation.services.decide import proposal
from apps.common.events import publish
from apps.common.locks import lock_try
from apps.executions.models import Setting
from apps.executions.services.adapted_parts import FlowParts, value_of
from apps.systems.models import System
from weir.actions.set_bucket import KIND as BUCKET
from weir.lifecycle.adaptations import DECISIONS, DecisionCommand, DecisionState
from weir.placement import ledger
from weir.placement.handover import Part

logger = logging.getLogger(__name__)

LOCK = "weirpart"
"""The key of the advisory lock: one coordinator of many decides."""

_looked: dict[tuple[int, str], float] = {}
"""When this process last asked the kernel about a flow. Only the pace depends on it."""


def adaptation_tick() -> int:
    """Do what follows now for every flow whose parts move, or have moved. Returns how many there
    are, where it is this process that decides."""
    stops_end()
    flows = concerns()
    if not flows or not lock_try(LOCK):
        return 0
    for system in System.objects.filter(pk__in=flows).order_by("pk"):
        turn = _Turn(system, flows[system.pk])
        if turn.around.restored:
            # What agents have obeyed is unknown here.
            continue
        for flow in sorted(turn.concerns):
            try:
                turn.take(flow)
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                # An error in one flow must not stop the others.
                logger.exception("the parts of %s of %s cannot be adapted", flow, system)
    return sum(map(len, flows.values()))


class _Turn:
    """Hold what flows of a system share in one turn of the loop: most of them stay as they are,
    and nothing of those is locked."""

    def __init__(self, system: System, flows: Mapping[str, Concern]) -> None:
        self.system = system
        self.concerns = flows
        self.around = surroundings_of(system, flows)

    def take(self, flow: str) -> None:
        """Do what follows now for the parts of one flow, where it is its time."""
        if self._is_under_way(self.concerns[flow]):
            self.advance(flow)
        elif self._is_time(flow) and self._may_decide(flow):
            self.advance(flow, decides=True)

    def advance(self, flow: str, *, decides: bool = False) -> None:
        """Do everything that follows now for the parts of one flow, in one transaction."""
        with transaction.atomic():
            step = _Step(self, flow, decides=decides)
            step.advance()
            step.parts.save(self.system)

    def _is_under_way(self, concern: Concern) -> bool:
        """Return whether something goes on, or has to return, whatever the period."""
        rests = concern.value is not None and not concern.is_stopped
        returns = not rests or self.around.execution is not None
        return concern.is_open or (concern.has_moved and returns)

    def _is_time(self, flow: str) -> bool:
        key, concern = (self.system.pk, flow), self.concerns[flow]
        if concern.value is None or concern.is_stopped:
            return False
        period_s = 0.9 * float(concern.value.get("period_s", 1.0))
        last_at, period = concern.last_at, timedelta(seconds=period_s)
        if last_at is not None and is_within(last_at, timezone.now(), period):
            return False
        if time.monotonic() - _looked.get(key, -math.inf) < period_s:
            return False
        _looked[key] = time.monotonic()
        return True

    def _may_decide(self, flow: str) -> bool:
        """Return whether the locks are worth while: something moves as it is without them."""
        parts, concern = self._parts.get(flow), self.concerns[flow]
        if parts is None or concern.value is None:
            return False
        if flow not in self.around.topics or not parts.are_settled or parts.unconfirmed:
            return True
        within = ledger.within((entry.most for entry in parts.entries.values()), parts.contract)
        order, now = order_of(concern.value, concern.since), timezone.now()
        return not within or None is not proposal(
            parts,
            order,
            self.history(flow, order, now),
            self.around,
            changed_at=self.changed_at(flow),
            drains=concern.drains,
            now=now,
        )

    def history(self, flow: str, order: Order, now: datetime) -> History:
        """Return what was measured of the flow in the window of its order."""
        return self._measurements.of(flow, window_s=order.params.window_s, now=now)

    def changed_at(self, flow: str) -> datetime:
        """Return when a plan last changed something of the flow."""
        return self._changed_at[flow]

    @cached_property
    def _flows(self) -> list[str]:
        return [flow for flow, concern in self.concerns.items() if concern.value is not None]

    @cached_property
    def _parts(self) -> dict[str, FlowParts]:
        rows: dict[str, list[Setting]] = {}
        for row in Setting.objects.filter(
            system=self.system, kind=BUCKET, target__flow__in=self._flows
        ).order_by("id"):
            rows.setdefault(row.target["flow"], []).append(row)
        return {flow: FlowParts(flow, mine) for flow, mine in rows.items()}

    @cached_property
    def _changed_at(self) -> dict[str, datetime]:
        return changed_at(self.system, self._flows)

    @cached_property
    def _measurements(self) -> Measurements:
        values = [concern.value for concern in self.concerns.values() if concern.value is not None]
        return measurements(
            self.system,
            self._flows,
            brokers={broker for value in values for broker in value.get("brokers", ())},
            window_s=max(_number(value.get("window_s")) for value in values),
            now=timezone.now(),
            reliable=self.around.reliable,
        )


def _number(value: Any) -> float:
    """Return a number of an order; 0 for anything else, which shows where it is used."""
    return float(value) if isinstance(value, int | float) else 0.0


class _Step:
    """Hold the parts of a flow, locked, with its order and the decision under way."""

    def __init__(self, turn: _Turn, flow: str, *, decides: bool) -> None:
        self.turn = turn
        self.around = turn.around
        self.system = turn.system
        self.flow = flow
        self.decides = decides
        self.now = timezone.now()
        self.parts = FlowParts.locked(self.system, flow)
        self.parts.settle(self.system)
        self.order = order_in_force(self.system, flow)
        rows = Decision.objects.select_for_update().filter(system=self.system, flow=flow)
        self.last = rows.first()
        """The newest decision: no other can be under way."""
        is_open = self.last is not None and self.last.state in UNDER_WAY_NAMES
        self.decision = self.last if is_open else None

    def advance(self) -> None:
        """Return parts to those in force where they have to, else go on, else decide anew."""
        decision = self.decision
        why = self._why_restored()
        restores = decision is not None and decision.cause == DecisionCause.RESTORE
        if why or (restores and decision is not None and decision.state == DecisionState.SHRINKING):
            self._restore(why)
        elif decision is not None:
            self._go_on(decision)
        elif self.order is not None and self.decides:
            self._decide(self.order)

    # --- back to what is in force

    def _why_restored(self) -> str:
        parts, order = self.parts, self.order
        if self.around.execution is not None:
            return sentences.busy_text(str(self.around.execution))
        if order is None:
            return sentences.ENDED
        if self.flow not in self.around.topics:
            # Its page is gone, and with it whoever could stop this.
            return sentences.NO_TOPIC
        if order.stop is not None:
            return sentences.stopped_text(order.stop.stopped_by_name)
        if not parts.have_moved:
            return ""
        if not parts.are_settled:
            return sentences.CHANGED
        within = ledger.within((entry.most for entry in parts.entries.values()), parts.contract)
        return "" if within else sentences.EXCEEDED

    @property
    def _is_stopped(self) -> bool:
        return self.order is not None and self.order.stop is not None

    def _restore(self, why: str) -> None:
        parts, decision = self.parts, self.decision
        begun = decision is not None or parts.is_capped or self.around.execution is not None
        if decision is not None and decision.cause != DecisionCause.RESTORE:
            self._end(decision, DecisionCommand.GIVE_UP, why)
            decision = None
        if not parts.have_moved:
            if decision is not None:
                self._confirm(decision)
            return
        if decision is None or decision.state == DecisionState.GROWING:
            if not (begun or self.around.window.open or self._is_stopped):
                return
            if decision is not None:
                # An execution has lowered parts again, before all had confirmed.
                self._end(decision, DecisionCommand.GIVE_UP, sentences.CHANGED)
            decision = self._begin(DecisionCause.RESTORE, why, dict(self._back()))
        if not parts.is_capped:
            parts.cap()
        elif parts.restore():
            self._grow(decision)
        else:
            self._wait(decision)

    def _back(self) -> Iterator[tuple[str, tuple[Part, Part]]]:
        for broker, entry in self.parts.entries.items():
            now = entry.most if entry.may_hold is not None else entry.asked
            if now != entry.wanted and math.isfinite(now.rate_per_s + entry.wanted.rate_per_s):
                yield broker, (now, entry.wanted)

    def _wait(self, decision: Decision) -> None:
        """Say for whom parts wait that return, once that takes long."""
        if is_within(decision.at, self.now, GIVE_UP):
            return
        holding = sorted(
            broker
            for broker, entry in self.parts.entries.items()
            if ledger.larger(entry.most, entry.ordinary) != entry.ordinary
        )
        because = self._unconfirmed(holding, "smaller")
        if because != decision.because:
            decision.because = because
            decision.save(update_fields=["because"])
            self._publish()

    # --- a decision under way

    def _go_on(self, decision: Decision) -> None:
        entries = self.parts.entries
        moves = _moves(decision)
        after = {broker: then for broker, (_, then) in moves.items()}
        least = {broker: ledger.smaller(*both) for broker, both in moves.items()}
        shrinks = decision.state == DecisionState.SHRINKING
        if decision.cause != DecisionCause.RESTORE:
            expected = least if shrinks else after
            if any(b not in entries or entries[b].asked != p for b, p in expected.items()):
                self._end(decision, DecisionCommand.GIVE_UP, sentences.CHANGED)
                return
        if not shrinks:
            self._confirm(decision)
        elif ledger.fits(entries, after, self.parts.contract):
            self.parts.ask(after)
            self._grow(decision)
        elif not is_within(decision.at, self.now, GIVE_UP):
            smaller = sorted(b for b in self.parts.unconfirmed if b in moves)
            because = self._unconfirmed(smaller or self.parts.unconfirmed, "smaller")
            self._end(decision, DecisionCommand.GIVE_UP, because)

    def _confirm(self, decision: Decision) -> None:
        """End a decision once its brokers have confirmed what they are asked for."""
        if decision.state == DecisionState.SHRINKING:
            self._grow(decision)
        waiting = sorted(_moves(decision).keys() & set(self.parts.unconfirmed))
        since = decision.shrunk_at or decision.at
        if not waiting:
            self._end(decision, DecisionCommand.CONFIRM, "")
        elif not is_within(since, self.now, GIVE_UP):
            # Nothing is unsafe about a larger part that is confirmed late.
            because = self._unconfirmed(waiting, "new")
            self._end(decision, DecisionCommand.GIVE_UP, because)

    def _unconfirmed(self, brokers: list[str], size: str) -> str:
        silent = [broker for broker in brokers if broker not in self.around.live]
        return sentences.unconfirmed_text(brokers, silent, size) if brokers else sentences.CHANGED

    # --- a new decision

    def _decide(self, order: Order) -> None:
        moved = proposal(
            self.parts,
            order,
            self.turn.history(self.flow, order, self.now),
            self.around,
            changed_at=self.turn.changed_at(self.flow),
            drains=self.last is not None and self.last.drains,
            now=self.now,
        )
        if moved is None:
            return
        self._begin(moved.cause, moved.sentence, moved.moves, moved.measured, drains=moved.drains)
        after = {broker: then for broker, (_, then) in moved.moves.items()}
        self.parts.ask(ledger.shrunk(self.parts.entries, after))

    # --- rows

    def _begin(
        self,
        cause: DecisionCause,
        sentence: str,
        moves: Mapping[str, tuple[Part, Part]],
        measured: Mapping[str, Any] | None = None,
        *,
        drains: bool = False,
    ) -> Decision:
        row = Decision.objects.create(
            system=self.system,
            flow=self.flow,
            at=self.now,
            cause=cause,
            sentence=sentence,
            actions=[
                {
                    "kind": BUCKET,
                    "target": {"flow": self.flow, "broker": broker},
                    "before": value_of(before),
                    "after": value_of(after),
                }
                for broker, (before, after) in sorted(moves.items())
            ],
            measured=measured or {},
            drains=drains,
        )
        rows = Decision.objects.filter(system=self.system, flow=self.flow)
        oldest = list(rows.values_list("pk", flat=True)[KEEP_DECISIONS - 1 : KEEP_DECISIONS])
        if oldest:
            rows.filter(pk__lt=oldest[0]).delete()
        self._publish()
        return row

    def _grow(self, decision: Decision) -> None:
        self._move(decision, DecisionCommand.GROW)
        decision.shrunk_at, decision.because = self.now, ""
        decision.save(update_fields=["state", "shrunk_at", "because"])
        self._publish()

    def _move(self, decision: Decision, command: DecisionCommand) -> None:
        decision.state = DECISIONS.advance(DecisionState(decision.state), command).value

    def _end(self, decision: Decision, command: DecisionCommand, because: str) -> None:
        self._move(decision, command)
        decision.because = because
        decision.ended_at = self.now
        decision.save(update_fields=["state", "because", "ended_at"])
        self._publish()

    def _publish(self) -> None:
        # Of a kind that wakes no loop (see `manage.py coordinate`).
        publish("decision", system=self.system.public_id, topic=self.flow)


def _moves(decision: Decision) -> dict[str, tuple[Part, Part]]:
    return {
        plain["target"]["broker"]: (_part(plain["before"]), _part(plain["after"]))
        for plain in decision.actions
    }


def _part(value: Mapping[str, Any]) -> Part:
    return Part(rate_per_s=value["rate_per_s"], size=value["size"])
