"""Parts move beside plans: whatever is delayed, lost or killed in between, brokers together never
enforce more than the contract."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apps.executions.models import Setting
from apps.executions.services.adapted_parts import (
    ExceedsContract,
    FlowParts,
    asked_of,
    is_shown,
    part_ask,
    part_give_up,
    part_prove,
    part_shown,
)
from weir.coordination.wire import Bucket, Observed
from weir.placement import ledger
from weir.placement.handover import Part, part_steps

BROKERS = "abc"
SLACK = 1e-9
WHOLE = Part(rate_per_s=10.0, size=5.0)


def split(whole: Part, shares: dict[str, float]) -> dict[str, Part]:
    total = sum(shares.values())
    return {
        broker: Part(rate_per_s=whole.rate_per_s * w / total, size=whole.size * w / total)
        for broker, w in shares.items()
    }


def value(part: Part | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {"rate_per_s": part.rate_per_s, "size": part.size, "mode": "enforce"}


def held(value: dict[str, Any] | None) -> Part:
    return Part(**{name: value[name] if value else 0.0 for name in ("rate_per_s", "size")})


class Fleet:
    """Brokers that follow late or never, one execution at a time, and adaptation at any moment.

    Each method is one transaction, one message or one step of an agent, so that what is killed in
    between is a call that does not come. A walk takes them in any order.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.begin(WHOLE, self.shares())

    def walk(self, steps: int) -> None:
        """Do something at random, time and again; after each the contract has to hold."""
        every = [
            lambda: self.agents_read_documents(self.some(), self.chance.randint(0, 2)),
            lambda: self.agents_report(self.some()),
            lambda: self.report_arrives(self.chance.choice(BROKERS), self.chance.randint(0, 2)),
            lambda: self.agents_obey_and_are_heard(self.some()),
            self.adaptation_settles,
            lambda: self.adaptation_decides(
                self.shares(), self.some(), is_killed=self.chance.random() < 0.3
            ),
            self.parts_are_capped,
            self.parts_are_restored_if_they_may,
            lambda: self.execution_begins(self.chance.choice([1.0, 1.0, 0.5, 1.25]), self.shares()),
            lambda: self.actions_ask(self.some(), self.some()),
            lambda: self.actions_ask(self.some(), self.some()),
            self.actions_are_proved,
            lambda: self.step_is_given_up(rolls_back=self.chance.random() < 0.7),
        ]
        for _ in range(steps):
            self.chance.choice(every)()
            self.contract_is_kept()
            self.ledger_knows_what_brokers_may_enforce()

    def shares(self) -> dict[str, float]:
        """Choose brokers with their weights."""
        chosen = self.chance.sample(BROKERS, self.chance.randint(1, len(BROKERS)))
        return {broker: self.chance.choice([0.1, 0.3, 0.5, 1.0]) for broker in chosen}

    def some(self) -> set[str]:
        """Choose all brokers, none or one."""
        one = {self.chance.choice(BROKERS)}
        return self.chance.choice([set(BROKERS), set(BROKERS), set(), one, one, one])

    def begin(self, whole: Part, shares: dict[str, float]) -> None:
        parts = split(whole, shares)
        self.rows: dict[str, Setting] = {}
        for broker in BROKERS:
            part = value(parts.get(broker))
            target = {"flow": "tides", "broker": broker}
            self.rows[broker] = Setting(
                kind="set_bucket", target=target, in_force=part, desired=part
            )
        self.number = 1
        self.documents = {1: self.asked()}
        self.enforces = dict.fromkeys(BROKERS, 1)
        self.reports: dict[str, list[int]] = {broker: [1] for broker in BROKERS}
        self.seen = dict.fromkeys(BROKERS, 1)
        self.todo: list[dict[str, Any]] = []
        self.under_way: dict[str, tuple[int, Any, Any]] = {}
        self.done: list[dict[str, Any]] = []
        self.step: dict[str, Any] = {}
        self.allowed = self.contract()

    # --- the database

    def asked(self) -> dict[str, Any]:
        return {broker: asked_of(row) for broker, row in self.rows.items()}

    def contract(self) -> Part:
        return self.parts().contract

    def parts(self) -> FlowParts:
        return FlowParts("tides", self.rows.values())

    def publish(self) -> int:
        self.number += 1
        self.documents[self.number] = self.asked()
        return self.number

    def save(self, parts: FlowParts) -> None:
        if parts.are_asked_anew:
            parts.take_number(self.publish())
        for row in self.rows.values():
            assert row.controlled is None or None not in row.controlled.values()

    def settle(self) -> None:
        for broker, row in self.rows.items():
            if is_shown(self.observed(broker), row):
                row.may_hold = None

    def observed(self, broker: str) -> Observed:
        number = self.seen[broker]
        part = self.documents[number][broker]
        buckets = (
            {"tides": Bucket(rate_per_s=part["rate_per_s"], size=part["size"])} if part else {}
        )
        return Observed(number=number, buckets=buckets)

    # --- agents

    def agents_read_documents(self, who: set[str], skipped: int) -> None:
        """Perhaps not the newest, but none before what they have obeyed."""
        for broker in who:
            self.enforces[broker] = max(self.enforces[broker], self.number - skipped)

    def agents_report(self, who: set[str]) -> None:
        for broker in who:
            self.reports[broker].append(self.enforces[broker])

    def report_arrives(self, broker: str, lost: int) -> None:
        """After others were lost; older ones are dropped by their sequence."""
        waiting = self.reports[broker]
        if len(waiting) > lost:
            self.seen[broker] = max(self.seen[broker], waiting[lost])
            del waiting[: lost + 1]

    def agents_obey_and_are_heard(self, who: set[str]) -> None:
        for broker in who:
            self.enforces[broker] = self.seen[broker] = self.number

    # --- adaptation

    def adaptation_settles(self) -> None:
        self.settle()

    def adaptation_decides(
        self, shares: dict[str, float], followed_by: set[str], is_killed: bool
    ) -> None:
        """In two transactions; whoever follows the first does so at once."""
        if not self.parts().are_settled:
            return
        after = self.after(shares)
        self.ask_if_it_may(ledger.shrunk(self.parts().entries, after))
        self.agents_obey_and_are_heard(followed_by)
        if not is_killed:
            self.adaptation_settles()
            self.ask_if_it_may(after)

    def ask_if_it_may(self, asked: dict[str, Part]) -> None:
        parts = self.parts()
        try:
            parts.ask(asked)
        except ExceedsContract:
            return
        self.save(parts)

    def after(self, shares: dict[str, float]) -> dict[str, Part]:
        enforced = self.parts().enforced
        chosen = {broker: w for broker, w in shares.items() if broker in enforced}
        frozen = [e.most for b, e in self.parts().entries.items() if b not in chosen]
        taken, whole = ledger.total(frozen), self.contract()
        rest = Part(rate_per_s=whole.rate_per_s - taken.rate_per_s, size=whole.size - taken.size)
        return split(rest, chosen) if chosen and min(rest.rate_per_s, rest.size) > 1e-3 else {}

    def parts_are_capped(self) -> None:
        parts = self.parts()
        if parts.have_moved:
            parts.cap()
            self.save(parts)

    def parts_are_restored_if_they_may(self) -> None:
        parts = self.parts()
        self.settle()
        parts.restore()
        self.save(parts)

    # --- executions

    def execution_begins(self, factor: float, shares: dict[str, float]) -> None:
        if self.step or self.todo:
            return
        now = self.contract()
        whole = Part(rate_per_s=now.rate_per_s * factor, size=now.size * factor)
        before = {b: held(row.in_force) for b, row in self.rows.items() if row.in_force}
        after = split(whole, shares)
        self.todo = [
            {broker: (value(was), value(then)) for broker, (was, then) in step.items()}
            for step in part_steps(before, after)
        ]
        self.done = []
        settled = all(row.may_hold is None for row in self.rows.values())
        known = [self.contract(), whole, *([] if settled else [self.allowed])]
        self.allowed = Part(
            rate_per_s=max(part.rate_per_s for part in known),
            size=max(part.size for part in known),
        )

    def actions_ask(self, who: set[str], followed_by: set[str]) -> None:
        if not self.step:
            if not self.todo:
                return
            self.step = dict(self.todo.pop(0))
        for broker in sorted(who & self.step.keys() - self.under_way.keys()):
            before, after = self.step[broker]
            row = self.rows[broker]
            lowered = part_ask(row, list(self.rows.values()), after)
            number = self.publish()
            for each in (row, *lowered):
                each.asked_number = number
            self.under_way[broker] = (number, before, after)
        self.agents_obey_and_are_heard(followed_by)

    def actions_are_proved(self) -> None:
        for broker, (number, before, after) in list(self.under_way.items()):
            seen = self.observed(broker)
            if seen.number >= number and part_shown(seen, "tides", after):
                row = self.rows[broker]
                row.in_force = row.desired
                part_prove(row)
                del self.under_way[broker], self.step[broker]
                self.done.append({broker: (after, before)})

    def step_is_given_up(self, rolls_back: bool) -> None:
        """Its time is over: the deadline of what was given up may pass unconfirmed, too."""
        if not self.step:
            return
        for broker in list(self.under_way):
            row = self.rows[broker]
            part_give_up(row, list(self.rows.values()))
            row.asked_number = self.publish()
        self.step, self.under_way = {}, {}
        self.todo = list(reversed(self.done)) if rolls_back else []
        self.done = []

    # --- what has to hold

    def contract_is_kept(self) -> None:
        settled = all(row.may_hold is None for row in self.rows.values())
        if settled and not (self.step or self.todo):
            self.allowed = self.contract()
        enforced = [held(self.documents[self.enforces[b]][b]) for b in BROKERS]
        whole = ledger.total(enforced)
        assert whole.rate_per_s <= self.allowed.rate_per_s * (1 + SLACK)
        assert whole.size <= self.allowed.size * (1 + SLACK)

    def ledger_knows_what_brokers_may_enforce(self) -> None:
        for broker, entry in self.parts().entries.items():
            enforces = held(self.documents[self.enforces[broker]][broker])
            assert ledger.larger(entry.most, enforces) == entry.most

    def end(self) -> None:
        """Once agents speak again and no plan is under way, all have what was approved."""
        if self.step:
            self.step_is_given_up(rolls_back=False)
        for _ in range(3):
            self.agents_obey_and_are_heard(set(BROKERS))
            parts = self.parts()
            self.settle()
            parts.cap() if not parts.is_capped else parts.restore()
            self.save(parts)
        assert not self.parts().have_moved
        assert self.asked() == {broker: row.in_force for broker, row in self.rows.items()}
        self.agents_obey_and_are_heard(set(BROKERS))
        assert all(
            row.may_hold is None or is_shown(self.observed(b), row) for b, row in self.rows.items()
        )


@pytest.mark.parametrize("seeds", [range(1000), range(1000, 2000), range(2000, 3000)])
def test_brokers_never_enforce_more_than_the_contract_and_end_at_what_was_approved(
    seeds: range,
) -> None:
    for seed in seeds:
        fleet = Fleet(seed)
        try:
            fleet.walk(60)
            fleet.end()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
