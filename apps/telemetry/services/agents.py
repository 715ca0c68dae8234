"""Enrol and revoke agents; keep their sessions, leases and reports."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeGuard

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import Conflict
from apps.common.events import publish, publish_seldom
from apps.systems.models import Product, System
from apps.telemetry.domain.addresses import address_checked, simulated_address
from apps.telemetry.domain.payload import gates_contradiction
from apps.telemetry.domain.publisher_times import pack
from apps.telemetry.models import (
    KEEP_SAMPLES,
    Agent,
    AgentState,
    PublisherTimes,
    Removal,
    Sample,
)
from apps.telemetry.selectors import agents_ahead
from apps.telemetry.selectors.silence import held_last
from apps.telemetry.services.losses import losses_keep
from apps.topology.models import Broker
from weir.errors import InvalidProblem

SECRET_PREFIX = "weira_"
LEASE_S = 10.0
LONGEST_DOUBT_S = 60.0
"""How far back samples become suspect by a later one."""
TELEMETRY_NEWS_EVERY_S = 1.0
LEAST_PAYLOAD_BYTES = 65_536
"""The smallest limit of any broker: it bounds the messages of publishers in its whole system."""
LARGEST_CLAIM = 2_000_000_000
"""The largest session that an agent may claim beyond ours: it leaves numbers for all future
ones."""


class Fenced(Conflict):
    """Signal that a newer session acts for the broker; this one must stop acting."""

    def __init__(self, agent: Agent, incarnation: int) -> None:
        super().__init__(
            "fenced",
            f"{agent}: incarnation {incarnation} was replaced by {agent.incarnation}. "
            "Stop this process, or open a new session if it is the only one.",
        )


class SessionUnknown(Conflict):
    """Signal a session that this database never opened: it was restored since."""

    def __init__(self, agent: Agent, incarnation: int) -> None:
        super().__init__(
            "session_unknown",
            f"{agent}: session {incarnation} was never opened here, the newest is "
            f"{agent.incarnation}. Open a new one.",
        )


def not_mine(agent: Agent, incarnation: int) -> Conflict:
    """Return why a session may not act for the agent, which has another one."""
    kind = SessionUnknown if incarnation > agent.incarnation > 0 else Fenced
    return kind(agent, incarnation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """Describe the agent as it introduces itself in a new session."""

    agent_version: str
    product: str
    address: str
    """Where it says that neighbours reach it; empty when it says nothing."""
    facts: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    incarnation: int = 0
    """The newest session that it remembers."""
    number: int = 0
    """The largest number of a document that it has obeyed."""
    key: str = ""
    """The public key by which neighbours' agents identify it."""


def secret_digest(secret: str) -> str:
    """Return what is stored of a credential: it has 256 random bits, so one plain hash is
    enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def agent_by_secret(secret: str) -> Agent | None:
    """Return the agent with this credential, unless it was revoked, with its system and broker."""
    return (
        Agent.objects.select_related("system", "broker")
        .filter(digest=secret_digest(secret), revoked_at=None)
        .first()
    )


def _publish_state(agent: Agent) -> None:
    """Publish the agent's state if it has changed since it was last published; the row is
    locked."""
    state = agent.state()
    if agent.told_state == state:
        return
    agent.told_state = state.value
    agent.save(update_fields=["told_state", "updated_at"])
    _wake_listeners(agent)


def _record(
    agent: Agent,
    actor: User | None,
    action: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any],
    reason: str = "",
) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="agent",
        object_id=agent.public_id,
        object_name=agent.broker.name,
        system_id=agent.system.public_id,
        before=before,
        after=after,
        reason=reason,
    )


def _wake_listeners(agent: Agent) -> None:
    """Wake the listeners that wait for documents."""
    publish(
        "agent",
        id=agent.public_id,
        broker=agent.broker.public_id,
        system=agent.system.public_id,
        state=agent.state().value,
    )


def _locked(pk: int) -> Agent:
    rows = Agent.objects.select_for_update(of=("self",)).select_related("system", "broker")
    return rows.get(pk=pk)


@transaction.atomic
def agent_enrol(
    *, broker: Broker, actor: User | None, address: str | None = None
) -> tuple[Agent, str]:
    """Give the broker's agent a credential, returned once; an earlier one ends at once.

    `address`: where neighbours reach the broker; None keeps what is fixed. Its key is forgotten:
    neighbours end their links until a process with the new credential has said its own.
    Raises ApplicationError for what is no address.
    """
    secret = SECRET_PREFIX + secrets.token_urlsafe(32)
    credential = {"prefix": secret[:12], "digest": secret_digest(secret)}
    fixed = None if address is None else address_checked(address)
    agent, made = Agent.objects.get_or_create(
        broker=broker, defaults={"system": broker.system, **credential}
    )
    agent = _locked(agent.pk)
    if fixed is None and broker.system.product == Product.SIMULATED:
        fixed = agent.address or simulated_address(broker.name)
    before = None if made else {"address": agent.address}
    agent.address = agent.address if fixed is None else fixed
    if not made:
        agent.prefix, agent.digest = credential["prefix"], credential["digest"]
        agent.enrolled_at, agent.revoked_at, agent.lease_until = timezone.now(), None, None
        agent.said_address, agent.public_key = "", ""
        # Fence a process that acts under the old credential, in case it connects in another way.
        agent.incarnation += 1 if agent.incarnation else 0
    agent.edits += 1
    agent.save()
    Removal.objects.filter(broker=broker, over_at=None).update(over_at=timezone.now())
    after = {"prefix": agent.prefix, "address": agent.address}
    _record(agent, actor, "enrol", before=before, after=after)
    _publish_state(agent)
    return agent, secret


@transaction.atomic
def agent_address_set(*, agent: Agent, actor: User | None, address: str, reason: str = "") -> Agent:
    """Set where neighbours' agents reach the broker. Raises ApplicationError for an invalid
    address."""
    fixed = address_checked(address)
    row = _locked(agent.pk)
    before = row.address
    if before != fixed:
        row.address = fixed
        row.edits += 1
        row.save(update_fields=["address", "edits", "updated_at"])
        _record(
            row,
            actor,
            "update",
            before={"address": before},
            after={"address": fixed},
            reason=reason,
        )
        _wake_listeners(row)
    return row


@transaction.atomic
def agent_revoke(*, agent: Agent, actor: User | None) -> Agent:
    """End the credential: neighbours end their links with the broker, which goes on unchanged.
    Revoking twice is harmless."""
    row = _locked(agent.pk)
    if row.revoked_at is None:
        row.revoked_at, row.lease_until = timezone.now(), None
        row.public_key = ""
        row.incarnation += 1 if row.incarnation else 0
        row.edits += 1
        row.save(
            update_fields=[
                *("revoked_at", "lease_until", "public_key"),
                *("incarnation", "edits", "updated_at"),
            ]
        )
        _record(row, actor, "revoke", after={"prefix": row.prefix})
        _publish_state(row)
    return row


@transaction.atomic
def broker_remove(*, broker: Broker, reason: str) -> Removal:
    """Stop waiting for a broker that is gone for good, and end its agent's credential.

    It stores what the broker held when it was last heard: at least that is lost with it.
    """
    held = held_last(broker)
    agent = Agent.objects.filter(broker=broker).first()
    if agent is not None:
        agent_revoke(agent=agent, actor=None)
    record(
        actor=None,
        action="remove",
        object_kind="agent",
        object_id=broker.public_id,
        object_name=f"broker {broker.name}",
        system_id=broker.system.public_id,
        after={"held": held.plain()},
        reason=f"{reason}. {held.sentence}"[:500],
    )
    return Removal.objects.create(system=broker.system, broker=broker, held=held.plain())


@transaction.atomic
def agent_session(*, agent: Agent, introduction: Introduction) -> Agent:
    """Open the next incarnation with a fresh lease; everything older is fenced from now on.

    It is above every one that the agent remembers, so that a database that has gone back does not
    give the same number twice. Raises InvalidProblem for a claim that leaves no numbers, or no
    message, to others.
    """
    _check_size(introduction.facts.get("max_payload_bytes"))
    row = _locked(agent.pk)
    if introduction.incarnation > max(row.incarnation, LARGEST_CLAIM):
        raise InvalidProblem("incarnation", f"must be at most {LARGEST_CLAIM}")
    row.incarnation = max(row.incarnation, introduction.incarnation) + 1
    row.report_sequence = 0
    row.obeyed_number = max(row.obeyed_number, introduction.number)
    row.lease_until = timezone.now() + timedelta(seconds=LEASE_S)
    row.agent_version, row.product = introduction.agent_version, introduction.product
    row.said_address, row.public_key = introduction.address, introduction.key
    row.facts, row.capabilities = dict(introduction.facts), dict(introduction.capabilities)
    # Observations of the former process say nothing about this one.
    row.observed, row.observed_at = None, None
    row.save()
    _publish_state(row)
    return row


def _check_size(claimed: object) -> None:
    if is_size(claimed) and claimed < LEAST_PAYLOAD_BYTES:
        raise InvalidProblem(
            "facts.max_payload_bytes",
            f"the broker takes messages of up to {claimed:,} bytes, so its system could carry no"
            f" larger ones: raise its max_payload to at least {LEAST_PAYLOAD_BYTES:,}",
        )


def is_size(value: object) -> TypeGuard[int]:
    """Return whether a broker may report this as its largest message, in bytes."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def agent_serve(*, agent: Agent, incarnation: int, number: int) -> bool:
    """Record, before sending it, which document an agent is sent. Raises Fenced.

    Returns False when it must not be sent, since the agent has obeyed one that this database does
    not know.
    """
    mine = Agent.objects.filter(pk=agent.pk, incarnation=incarnation, revoked_at=None)
    known = mine.filter(obeyed_number__lte=F("served_number"))
    if known.update(served_number=Greatest(F("served_number"), number), updated_at=timezone.now()):
        return True
    if not mine.exists():
        raise not_mine(Agent.objects.select_related("broker").get(pk=agent.pk), incarnation)
    return False


def agent_obeyed(*, agent: Agent, number: int) -> bool:
    """Record which document it has obeyed. Returns True when this shows that the database was
    restored."""
    if number <= agent.obeyed_number:
        return False
    rows = Agent.objects.filter(pk=agent.pk, served_number__lt=number, obeyed_number__lt=number)
    return bool(rows.update(obeyed_number=number, updated_at=timezone.now()))


def agents_adopt(*, system: System) -> int:
    """Accept what agents have obeyed that this database does not know. Returns the largest number
    among it; 0 when there was none."""
    ahead = agents_ahead(system.pk).select_for_update(of=("self",))
    numbers = [agent.obeyed_number for agent in ahead]
    Agent.objects.filter(system=system, obeyed_number__gt=F("served_number")).update(
        served_number=F("obeyed_number"), updated_at=timezone.now()
    )
    return max(numbers, default=0)


def agent_report(
    *,
    agent: Agent,
    incarnation: int,
    sequence: int | None,
    observed: Mapping[str, Any] | None,
    telemetry: Mapping[str, Any] | None,
) -> bool:
    """Renew the lease, store what was observed and measured. Returns whether the observed state
    changed.

    Call it in a transaction, with the row as it was just read (`agent_by_secret`).

    An observation counts if its `sequence` is above those of the session so far; None, from an
    agent that does not count, in any case. Raises Fenced, SessionUnknown for any incarnation but
    the newest. The agent's row stays locked until the
    caller's transaction ends, so that no newer session can begin under a report's feet.
    """
    now = timezone.now()
    columns: dict[str, Any] = {
        "lease_until": now + timedelta(seconds=LEASE_S),
        "last_report_at": now,
        "updated_at": now,
    }
    # One statement checks and locks: a newer session waits for this one, or is found here.
    mine = Agent.objects.filter(pk=agent.pk, incarnation=incarnation, revoked_at=None)
    if incarnation < 1:
        mine = mine.none()
    is_newer = False
    if observed is not None:
        newer = mine if sequence is None else mine.filter(report_sequence__lt=sequence)
        seen = {**columns, "observed": dict(observed), "observed_at": now}
        numbered = {} if sequence is None else {"report_sequence": sequence}
        is_newer = bool(newer.update(**seen, **numbered))
    if not is_newer and not mine.update(**columns):
        raise not_mine(Agent.objects.select_related("broker").get(pk=agent.pk), incarnation)
    changed = is_newer and observed != agent.observed
    if telemetry is not None:
        apart = ("publishers", "publishers_left")
        sample = {name: part for name, part in telemetry.items() if name not in apart}
        Sample.objects.create(broker_id=agent.broker_id, at=now, payload=sample)
        if why := gates_contradiction(sample.get("broker", {})):
            _suspect_before(agent, sample, now, why)
        if telemetry.get("publishers") or telemetry.get("publishers_left"):
            # Apart from the sample, which pages and rules read much more often.
            PublisherTimes.objects.create(
                broker_id=agent.broker_id,
                at=now,
                payload=pack(telemetry.get("publishers", {}), received_s=now.timestamp()),
                unreported=telemetry.get("publishers_left", 0),
            )
        losses_keep(agent=agent, telemetry=telemetry, now=now)
        publish_seldom(
            "telemetry",
            key=str(agent.system.public_id),
            every_s=TELEMETRY_NEWS_EVERY_S,
            system=agent.system.public_id,
        )
    if agent.told_state != AgentState.LIVE:
        _publish_state(_locked(agent.pk))
    return changed


def _suspect_before(agent: Agent, sample: Mapping[str, Any], now: datetime, why: str) -> None:
    """Mark the samples since the interval began whose gates contradict the broker: agents know a
    report later what had come to it."""
    since_s = sample["broker"].get("entered_ago_s", 0.0) - sample["interval_s"] / 2
    since = now - timedelta(seconds=min(since_s, LONGEST_DOUBT_S))
    for row in Sample.objects.filter(broker_id=agent.broker_id, at__gt=since, at__lt=now):
        if "suspect" not in row.payload:
            row.payload["suspect"] = why
            row.save(update_fields=["payload"])


def agents_lapse() -> int:
    """Publish the agents whose lease has ended since the last call. Returns how many."""
    with transaction.atomic():
        lapsed = list(
            Agent.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("system", "broker")
            .filter(told_state=AgentState.LIVE.value, lease_until__lte=timezone.now())
        )
        for agent in lapsed:
            _publish_state(agent)
    return len(lapsed)


def samples_prune() -> int:
    """Delete samples and times of publishers that are older than half an hour. Returns how many
    rows were deleted."""
    oldest = timezone.now() - KEEP_SAMPLES
    # The last sample of a silent broker says what is lost if it never returns.
    last = Sample.objects.order_by("broker_id", "-at", "-id").distinct("broker_id").values("pk")
    old = Sample.objects.filter(at__lt=oldest).exclude(pk__in=last)
    times = PublisherTimes.objects.filter(at__lt=oldest)
    return old.delete()[0] + times.delete()[0]
