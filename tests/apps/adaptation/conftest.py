"""An estuary: parts of the tides' bucket at three brokers, with agents that follow when told to."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from apps.adaptation.models import Adaptation, Decision
from apps.adaptation.services import adaptation_tick, loop
from apps.executions.models import Setting
from apps.executions.services import executions_tick
from apps.executions.services.documents import revision_bump
from apps.executions.services.reports import agent_heard
from apps.telemetry.models import Agent, Sample
from tests.apps.conftest import locks_release
from tests.factories.fleet import Harbour, make_harbour, seen_at
from tests.factories.plans import agents_come
from weir.actions import target_key

CONTRACT = {"rate_per_s": 30.0, "size": 15.0}
PART = {"rate_per_s": 10.0, "size": 5.0, "mode": "enforce"}
NOTHING = {"rate_per_s": 0.0, "size": 0.0, "mode": "enforce"}
ORDER = {"window_s": 10.0, "period_s": 1.0, "least_share": 0.02, "brokers": ["a", "b", "c"]}


class Estuary:
    """The tides enter at a, b and c, each with a third of the bucket; d is closed."""

    def __init__(self) -> None:
        self.harbour: Harbour = make_harbour("estuary")
        self.system, self.topic = self.harbour.system, self.harbour.topic
        for broker in "abcd":
            self.put("set_bucket", PART if broker != "d" else NOTHING, broker=broker)
        self.order(ORDER)
        self.offered: dict[str, float] = {}
        self.later(300)
        revision_bump(self.system)
        self.agents = agents_come(self.harbour)
        self.obey("abcd")

    def put(self, kind: str, value: Mapping[str, Any] | None, **target: str) -> None:
        """Put a setting in force, as a plan would have."""
        target = {"flow": "tides", **target}
        Setting.objects.update_or_create(
            system=self.system,
            kind=kind,
            target_key=target_key(target),
            defaults={
                "target": target,
                "in_force": value,
                "desired": value,
                "changed_at": timezone.now(),
            },
        )

    def order(self, value: Mapping[str, Any] | None) -> None:
        """Put a standing order in force; None: it ends."""
        self.put("adapt_parts", value)

    # --- agents

    def obey(self, brokers: str) -> None:
        """Have agents take over what they are asked for, and say so."""
        for broker in brokers:
            agent = self.agents[broker]
            agent_heard(
                agent=agent,
                incarnation=agent.incarnation,
                reports=[],
                observed=seen_at(self.system, broker),
                telemetry=None,
            )

    def measure(self, **offered: float) -> None:
        """Have agents measure these rates over the last ten seconds; older samples go."""
        self.offered = offered
        Sample.objects.all().delete()
        for broker, rate in offered.items():
            for ago in range(10):
                entry = {
                    "offered_per_s": rate,
                    "passed_per_s": rate,
                    "backlog": 0,
                    "work_peak": min(rate / 4, 4.0),
                }
                Sample.objects.create(
                    broker=self.harbour.brokers[broker],
                    at=timezone.now() - timedelta(seconds=9 - ago),
                    payload={"interval_s": 1.0, "flows": {"tides": entry}},
                )

    def fall_silent(self, broker: str) -> None:
        """Let the agent's lease end."""
        past = timezone.now() - timedelta(seconds=1)
        Agent.objects.filter(pk=self.agents[broker].pk).update(lease_until=past)

    @property
    def enforced(self) -> dict[str, dict[str, float]]:
        """What brokers enforce: what their agents saw last."""
        rows = Agent.objects.filter(system=self.system).values_list("broker__name", "observed")
        return {broker: seen["buckets"].get("tides", NOTHING) for broker, seen in rows}

    def assert_contract_is_kept(self, most: float = 1.0) -> None:
        """Whatever was delayed, brokers enforce no more than the contract."""
        for member, whole in CONTRACT.items():
            total = sum(part[member] for part in self.enforced.values())
            assert total <= most * whole * (1 + 1e-9)

    # --- the control plane

    def tick(self) -> None:
        """Call the loop as another process would: it knows nothing but the database."""
        loop._looked.clear()
        locks_release()
        adaptation_tick()

    def follow(self, rounds: int = 6) -> None:
        """Let the loops run and agents follow, one after the other; traffic stays as it is."""
        for _ in range(rounds):
            # On a slow machine what was measured would be too old by now.
            self.measure(**self.offered)
            self.tick()
            for broker in "cabd":
                self.obey(broker)
                self.assert_contract_is_kept()
                executions_tick()

    def later(self, seconds: float) -> None:
        """Let time pass for what was decided, by people and by the loop."""
        back = timedelta(seconds=seconds)
        Setting.objects.update(changed_at=F("changed_at") - back, updated_at=F("updated_at") - back)
        Adaptation.objects.update(stopped_at=F("stopped_at") - back)
        Decision.objects.update(at=F("at") - back, shrunk_at=F("shrunk_at") - back)

    @property
    def decision(self) -> Decision:
        """The newest decision."""
        decision = Decision.objects.first()
        assert decision is not None
        return decision

    def row(self, broker: str) -> Setting:
        """The part's row."""
        return Setting.objects.get(kind="set_bucket", target__broker=broker)

    def asked(self, broker: str) -> dict[str, float]:
        """What the broker's document asks for."""
        part = seen_at(self.system, broker)["buckets"].get("tides", NOTHING)
        return {"rate_per_s": part["rate_per_s"], "size": part["size"]}

    def rates(self) -> dict[str, float]:
        """The rates that documents ask for."""
        return {broker: self.asked(broker)["rate_per_s"] for broker in "abc"}


@pytest.fixture
def estuary(db: None) -> Iterator[Estuary]:
    yield Estuary()
    loop._looked.clear()
    locks_release()


@pytest.fixture
def shifted(estuary: Estuary) -> Estuary:
    """Traffic has moved to a, and parts have followed."""
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.follow()
    assert estuary.rates()["a"] > 15.0
    assert estuary.decision.state == "done"
    return estuary
