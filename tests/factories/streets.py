"""A small system whose topic has publishers at three brokers, some of which send together."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.catalog.models import CorrelationKey, Publisher, Slo, Topic
from apps.executions.models import Setting
from apps.executions.services.adopt_model import model_adopt
from apps.placements.models import Placement
from apps.placements.services import placement_request
from apps.placements.services.propose import placement_plan
from apps.plans.models import Plan
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create, entity_update
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Agent
from apps.telemetry.services import Introduction, agent_enrol, agent_report, agent_session
from apps.topology.models import Broker
from tests.factories import make_system
from tests.factories.runs import claim
from weir.actions import target_key
from weir.kernel import Call
from weir.placement import explained

RATES_PER_S: dict[str, float | None] = {"b1": 1000.0, "b2": 1000.0, "b3": 800.0, "b4": None}
"""What each broker takes of publishers."""

HERE = Introduction(
    agent_version="1", product="nats", address="nats://127.0.0.1:4222", facts={}, capabilities={}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Streets:
    """Topic `sensors` sends 600 msg/s from twelve publishers: eight at b1, half of which send
    together, two at b2, one at b4, which has no publish rate, one nowhere; another is silent.
    Topic `other` sends 300 msg/s at b1."""

    system: System
    topic: Topic
    other: Topic
    brokers: dict[str, Broker]

    def publisher(self, name: str) -> Publisher:
        return Publisher.objects.get(system=self.system, name=name)


def make_streets(name: str = "streets") -> Streets:
    system = make_system(name)
    drafts = Drafts(system)
    brokers = {
        broker: drafts.add(Broker, name=broker, publish_rate_max_per_s=rate)
        for broker, rate in RATES_PER_S.items()
    }
    topic, other = (
        drafts.add(
            Topic,
            name=each,
            rate_max_per_s=1000.0,
            token_rate_per_s=700.0,
            token_bucket=40.0,
            batch=1,
        )
        for each in ("sensors", "other")
    )
    drafts.add(Slo, name="loose", topic=topic, quantity="delay_p99_s", target=0.5)
    drafts.add(Slo, name="tight", topic=topic, quantity="delay_p99_s", target=0.05)
    drafts.add(Slo, name="median", topic=topic, quantity="delay_p50_s", target=0.001)
    key = drafts.add(CorrelationKey, name="on the hour")
    homes = ["b1"] * 8 + ["b2"] * 2 + ["b4", None]
    for index, home in enumerate(homes):
        drafts.add(
            Publisher,
            name=f"s{index + 1:02d}",
            topic=topic,
            broker=None if home is None else brokers[home],
            correlation_key=key if index < 4 else None,
            rate_per_s=50.0,
        )
    drafts.add(Publisher, name="silent", topic=topic, broker=brokers["b1"], rate_per_s=0.0)
    drafts.add(Publisher, name="o1", topic=other, broker=brokers["b1"], rate_per_s=300.0)
    entities_create(drafts=drafts, actor=None)
    return Streets(system=system, topic=topic, other=other, brokers=brokers)


def kernel_answer(run: Run) -> bytes:
    """What the job would answer."""
    call = Call(method=run.method, parameters=run.parameters, seed=run.seed)
    return explained.answer(bytes(run.snapshot.payload), call)


def place(streets: Streets, actor: User | None = None, **asked: Any) -> Placement:
    """The placement of a run that has ended."""
    run = placed(streets, actor, **asked)
    return Placement.objects.get(run=run)


def placed(streets: Streets, actor: User | None = None, **asked: Any) -> Run:
    """A run that has ended, whatever came out."""
    run = claim(placement_request(system=streets.system, actor=actor, topic=streets.topic, **asked))
    run_store(run, kernel_answer(run))
    return Run.objects.get(pk=run.pk)


def carry_from(streets: Streets, broker: str, delivery: str = "best_effort") -> None:
    """The topic enters at this broker, as its model says."""
    entity_update(
        instance=streets.topic,
        actor=None,
        expected_version=Topic.objects.get(pk=streets.topic.pk).version,
        values={"source": streets.brokers[broker], "delivery": delivery},
    )
    Setting.objects.filter(system=streets.system).delete()
    model_adopt(system=streets.system, actor=None, reason="As loaded.")


def enforce(streets: Streets, parts: dict[str, dict[str, Any]], kind: str = "set_bucket") -> None:
    """These parts of the bucket, or lists of publishers, are in force."""
    for broker, value in parts.items():
        target = {"flow": streets.topic.name, "broker": broker}
        Setting.objects.update_or_create(
            system=streets.system,
            kind=kind,
            target_key=target_key(target),
            defaults={"target": target, "in_force": value, "desired": value},
        )


def values(plan: Plan, kind: str = "set_bucket") -> dict[str, dict[str, Any]]:
    return {
        action.target["broker"]: dict(action.after)
        for step in plan.content.steps
        for action in step.actions
        if action.kind == kind and action.after is not None
    }


def carry_out(streets: Streets, plan: Plan) -> None:
    """All that the plan leads to is in force."""
    for kind in ("set_bucket", "assign_publishers"):
        every = [a for step in plan.content.steps for a in step.actions if a.kind == kind]
        end = {action.target["broker"]: action.after for action in every}
        enforce(streets, {broker: value for broker, value in end.items() if value}, kind)
        for broker, value in end.items():
            if value is None:
                Setting.objects.filter(
                    system=streets.system, kind=kind, target__broker=broker
                ).delete()


def put_in_force(streets: Streets, placement: Placement) -> None:
    """The placement is planned, and the plan carried out."""
    carry_out(streets, placement_plan(placement=placement, actor=None))


def report(streets: Streets, broker: str, **flow: float) -> None:
    """The broker's agent reports this of the topic, and is live from then on."""
    row = streets.brokers[broker]
    agent = Agent.objects.filter(broker=row).first() or agent_enrol(broker=row, actor=None)[0]
    if not agent.incarnation:
        agent = agent_session(agent=agent, introduction=HERE)
    if "profile_s" in flow:
        flow = {**profiled_part(streets, broker), **flow}
    telemetry = telemetry_checked({"flows": {streets.topic.name: flow}})
    with transaction.atomic():
        agent_report(
            agent=Agent.objects.select_related("system", "broker").get(pk=agent.pk),
            incarnation=agent.incarnation,
            sequence=None,
            observed=None,
            telemetry=telemetry,
        )


def profiled_part(streets: Streets, broker: str) -> dict[str, float]:
    """What an agent says of the part and the list that its profile is of."""
    rows = Setting.objects.filter(system=streets.system, target__broker=broker)
    values = dict(rows.values_list("kind", "in_force"))
    if (part := values.get("set_bucket")) is None:
        return {}
    members = {"profile_rate_per_s": part["rate_per_s"], "profile_size": part["size"]}
    if (names := values.get("assign_publishers")) is not None:
        members["profile_publishers"] = len(names["publishers"])
    return members


def profile(
    p99_s: float = 0.03, own_p99_s: float = 0.004, mean_s: float = 0.001, **members: float
) -> dict[str, float]:
    """What an agent measures, each end of an interval a tenth away."""
    return {
        "profile_s": 60.0,
        "profile_messages": 18_000,
        "profile_independent": 4_000,
        "profile_mean_s": mean_s,
        "profile_mean_low_s": 0.9 * mean_s,
        "profile_mean_high_s": 1.1 * mean_s,
        "profile_p99_s": p99_s,
        "profile_p99_low_s": 0.9 * p99_s,
        "profile_p99_high_s": 1.1 * p99_s,
        "profile_own_p99_s": own_p99_s,
        "profile_own_p99_low_s": 0.9 * own_p99_s,
        "profile_own_p99_high_s": 1.1 * own_p99_s,
        **members,
    }


def unbounded(**members: float) -> dict[str, float]:
    """The same where too little passed to bound a percentile."""
    known = profile(**{"profile_messages": 40, "profile_s": 8.0, **members})
    return {name: value for name, value in known.items() if not name.endswith("high_s")}
