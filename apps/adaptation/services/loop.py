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
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from apps.adaptation.domain import sentences
from apps.adaptation.models import (
    KEEP_DECISIONS,
    UNDER_WAY_NAMES,
    Decision,
    DecisionCause,
)
from apps.adaptation.selectors.history import History, history_of, mean
from apps.adaptation.selectors.orders import Order, changed_at, order_in_force
from apps.adaptation.selectors.standing import (
    Surroundings,
    is_silent,
    surroundings_of,
)
from apps.common.events import publish
from apps.common.locks import lock_try
from apps.executions.models import Setting
from apps.executions.services.adapted_parts import FlowParts, value_of
from apps.systems.models import System
from weir.actions.adapt_parts import KIND as ORDER
from weir.actions.set_bucket import KIND as BUCKET
from weir.lifecycle.adaptations import DECISIONS, DecisionCommand, DecisionState
from weir.placement import ledger
from weir.placement.adaptation import Adapted, Cause, adapted
from weir.placement.handover import Part

logger = logging.getLogger(__name__)

LOCK = "weirpart"
"""The key of the advisory lock: one coordinator of many decides."""

SETTLES = timedelta(seconds=3)
"""How long publishers take to log in where a plan has let them in; what came before that says
nothing of the traffic that follows."""

ENOUGH_S = 5.0
"""The history without which nothing is decided, at most."""

GIVE_UP = timedelta(seconds=5)
"""How long a decision waits for a broker to confirm."""

_looked: dict[tuple[int, str], float] = {}
"""When this process last asked the kernel about a flow. Only the pace depends on it."""


def adaptation_tick() -> int:
    """Do what follows now for every flow whose parts move, or have moved. Returns for how many."""
    flows = _concerned()
    if not flows or not lock_try(LOCK):
        return 0
    count = 0
    for system in System.objects.filter(pk__in=flows).order_by("pk"):
        around: Surroundings | None = None
        for flow in sorted(flows[system.pk]):
            try:
                around = around or surroundings_of(system)
                flow_advance(around, flow)
                count += 1
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                # An error in one flow must not stop the others.
                logger.exception("the parts of %s of %s cannot be adapted", flow, system)
    return count


def _concerned() -> dict[int, set[str]]:
    moved = Q(controlled__isnull=False) | Q(may_hold__isnull=False)
    rows = Setting.objects.filter(
        Q(kind=ORDER, in_force__isnull=False) | Q(moved, kind=BUCKET)
    ).values_list("system", "target__flow")
    open_decisions = Decision.objects.filter(state__in=UNDER_WAY_NAMES).values_list(
        "system", "flow"
    )
    flows: dict[int, set[str]] = defaultdict(set)
    for system, flow in (*rows, *open_decisions):
        flows[system].add(flow)
    return flows


def flow_advance(around: Surroundings, flow: str) -> None:
    """Do everything that follows now for the parts of one flow, in one transaction."""
    if around.restored:
        # What agents have obeyed is unknown here.
        return
    with transaction.atomic():
        step = _Step(around, flow)
        step.advance()
        step.parts.save(around.system)


class _Step:
    """Hold the parts of a flow, locked, with its order and the decision under way."""

    def __init__(self, around: Surroundings, flow: str) -> None:
        self.around = around
        self.system = around.system
        self.flow = flow
        self.parts = FlowParts.locked(self.system, flow)
        self.parts.settle(self.system)
        self.order = order_in_force(self.system, flow)
        self.decision = (
            Decision.objects.select_for_update()
            .filter(system=self.system, flow=flow, state__in=UNDER_WAY_NAMES)
            .first()
        )

    def advance(self) -> None:
        """Return parts to those in force where they have to, else go on, else decide anew."""
        decision = self.decision
        why = self._why_restored()
        restores = decision is not None and decision.cause == DecisionCause.RESTORE
        if why or (restores and decision is not None and decision.state == DecisionState.SHRINKING):
            self._restore(why)
        elif decision is not None:
            self._go_on(decision)
        elif self.order is not None:
            self._decide(self.order)

    # --- back to what is in force

    def _why_restored(self) -> str:
        parts, order = self.parts, self.order
        if self.around.execution is not None:
            return sentences.busy_text(str(self.around.execution))
        if order is None:
            return sentences.ENDED
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
        if self.around.now - decision.at < GIVE_UP:
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
        elif self.around.now - decision.at >= GIVE_UP:
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
        elif self.around.now - since >= GIVE_UP:
            # Nothing is unsafe about a larger part that is confirmed late.
            because = self._unconfirmed(waiting, "new")
            self._end(decision, DecisionCommand.GIVE_UP, because)

    def _unconfirmed(self, brokers: list[str], size: str) -> str:
        silent = [broker for broker in brokers if broker not in self.around.live]
        return sentences.unconfirmed_text(brokers, silent, size) if brokers else sentences.CHANGED

    # --- a new decision

    def _decide(self, order: Order) -> None:
        parts, around = self.parts, self.around
        last = Decision.objects.filter(system=self.system, flow=self.flow).first()
        if not self._is_time(order, last) or not parts.are_settled:
            return
        since = changed_at(self.system, self.flow) + SETTLES
        if around.now - since < timedelta(seconds=min(ENOUGH_S, order.params.window_s)):
            return
        history = history_of(self.system, self.flow, window_s=order.params.window_s, now=around.now)
        entries, contract = parts.entries, parts.contract
        if not ledger.within((entry.most for entry in entries.values()), contract):
            # An execution that failed has left more with a broker than is in force there.
            return
        brokers = sorted(parts.enforced.keys() & order.brokers)
        moving = [broker for broker in brokers if not is_silent(broker, around, history)]
        frozen = ledger.total(e.most for b, e in entries.items() if b not in moving)
        rest = Part(
            rate_per_s=contract.rate_per_s - frozen.rate_per_s, size=contract.size - frozen.size
        )
        now = {broker: entries[broker].asked for broker in moving}
        is_whole = ledger.within([rest], ledger.total(now.values()))
        if not moving or (is_whole and not around.window.open):
            return
        whole = ledger.made_whole(now, rest)
        if around.window.open:
            looks = {
                broker: [look.interval for look in history[broker] if look.at > since]
                for broker in moving
            }
            drains = last is not None and last.drains
            result = adapted(whole, looks, params=order.params, drains=drains)
        else:
            # What was shrunk for a decision that was given up is enlarged again.
            result = Adapted(parts=whole, cause=Cause.STEADY)
        after = ledger.made_whole(result.parts, rest)
        if not all(0 < part.rate_per_s < math.inf > part.size > 0 for part in after.values()):
            raise ValueError(f"parts of {self.flow} that let nothing in, or everything: {after}")
        moves = {
            broker: (now[broker], after[broker])
            for broker in moving
            if after[broker] != now[broker]
        }
        if not moves:
            return
        if result.cause is Cause.STEADY:
            cause = DecisionCause.SHIFT
            sentence = sentences.shared_anew_text([b for b in brokers if b not in moving])
        else:
            cause = DecisionCause(result.cause.value)
            sentence = sentences.moved_text(cause, result.brokers, now, after)
        measured = {broker: _measured(history, broker) for broker in moving}
        self._begin(cause, sentence, moves, measured, drains=result.drains)
        parts.ask(ledger.shrunk(entries, {broker: then for broker, (_, then) in moves.items()}))

    def _is_time(self, order: Order, last: Decision | None) -> bool:
        key, period_s = (self.system.pk, self.flow), order.params.period_s
        if last is not None and self.around.now - last.at < timedelta(seconds=0.9 * period_s):
            return False
        if time.monotonic() - _looked.get(key, -math.inf) < 0.9 * period_s:
            return False
        _looked[key] = time.monotonic()
        return True

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
            at=self.around.now,
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
        decision.shrunk_at, decision.because = self.around.now, ""
        decision.save(update_fields=["state", "shrunk_at", "because"])
        self._publish()

    def _move(self, decision: Decision, command: DecisionCommand) -> None:
        decision.state = DECISIONS.advance(DecisionState(decision.state), command).value

    def _end(self, decision: Decision, command: DecisionCommand, because: str) -> None:
        self._move(decision, command)
        decision.because = because
        decision.ended_at = self.around.now
        decision.save(update_fields=["state", "because", "ended_at"])
        self._publish()

    def _publish(self) -> None:
        publish("adaptation", system=self.system.public_id, topic=self.flow)


def _moves(decision: Decision) -> dict[str, tuple[Part, Part]]:
    return {
        plain["target"]["broker"]: (_part(plain["before"]), _part(plain["after"]))
        for plain in decision.actions
    }


def _part(value: Mapping[str, Any]) -> Part:
    return Part(rate_per_s=value["rate_per_s"], size=value["size"])


def _measured(history: History, broker: str) -> dict[str, float | None]:
    looks = history[broker]
    return {
        "offered_per_s": mean(looks, "offered_per_s"),
        "waiting": looks[-1].waiting if looks else None,
        "work_peak": max((look.work_peak for look in looks), default=None),
    }
