"""Store agents, one per broker at most, what they measure about once a second, and sums of it."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.models import BaseModel
from apps.systems.models import System
from apps.topology.models import Broker

KEEP_SAMPLES = timedelta(minutes=30)


class AgentState(StrEnum):
    """Name the state of an agent, as far as the control plane knows it."""

    NEVER = "never"
    """The agent has a credential but never connected."""
    LIVE = "live"
    """The agent holds its lease."""
    SILENT = "silent"
    """The agent's lease has ended; its broker goes on unchanged."""
    REVOKED = "revoked"
    """The agent's credential is no longer accepted."""


AGENT_STATES = [(state.value, state.value) for state in AgentState]


class Agent(BaseModel):
    """Store the process beside one broker. Only the hash of its credential is stored."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="agents")
    broker = models.OneToOneField(Broker, on_delete=models.CASCADE, related_name="agent")
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    enrolled_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True)

    # Every session gets the next number; reports of older ones are refused.
    incarnation = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    # The state that was published last, so that an ended lease is published once.
    told_state = models.CharField(max_length=8, default=AgentState.NEVER.value)

    agent_version = models.CharField(max_length=64, blank=True)
    product = models.CharField(max_length=32, blank=True)
    # Where neighbours' agents reach the broker: set by a person, sent to neighbours.
    address = models.CharField(max_length=300, blank=True)
    # Where the agent itself says that it is: only compared, sent to nobody.
    said_address = models.CharField(max_length=300, blank=True)
    # The key by which neighbours' agents identify this one; of the current credential's last
    # session.
    public_key = models.CharField(max_length=56, blank=True)
    # Rises with everything about this agent that documents contain, apart from its sessions.
    edits = models.PositiveIntegerField(default=0)
    facts: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    capabilities: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    observed: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    observed_at = models.DateTimeField(null=True)
    last_report_at = models.DateTimeField(null=True)
    # Of the newest session: an observation that arrives after a later one is not stored.
    report_sequence = models.PositiveBigIntegerField(default=0)

    # Numbers of documents: the one sent last, and the one that the agent reports as obeyed. The
    # latter can be larger only if this database was restored since.
    served_number = models.PositiveBigIntegerField(default=0)
    obeyed_number = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ["broker__name"]
        indexes = [models.Index(fields=["told_state", "lease_until"], name="agent_by_lease")]
        constraints = [
            models.CheckConstraint(
                condition=Q(digest__regex=r"^[0-9a-f]{64}$"), name="agent_digest_is_sha256"
            ),
            models.CheckConstraint(
                condition=Q(told_state__in=sorted(AgentState)), name="agent_told_state_known"
            ),
            models.CheckConstraint(
                condition=Q(lease_until=None) | Q(incarnation__gt=0),
                name="agent_lease_needs_a_session",
            ),
            models.CheckConstraint(
                condition=Q(public_key="") | Q(public_key__regex=r"^U[A-Z2-7]{55}$"),
                name="agent_key_is_an_nkey",
            ),
        ]

    def __str__(self) -> str:
        return f"agent of {self.broker}"

    @property
    def is_ahead(self) -> bool:
        """Return whether it has obeyed a document that this database does not know."""
        return self.revoked_at is None and self.obeyed_number > self.served_number

    @property
    def speaks(self) -> bool:
        """Return whether a process with the present credential has connected: neighbours may link
        with it."""
        return self.revoked_at is None and self.lease_until is not None

    @property
    def address_problem(self) -> str:
        """Return what a person should do about the address; empty when nothing."""
        claimed = self.said_address
        if not self.address:
            where = f" The agent says {claimed}; check that and fix it." if claimed else ""
            return f"No address is fixed, so no neighbour can link with this broker.{where}"
        if claimed and claimed != self.address:
            return (
                f"The agent says that it is reached at {claimed}, neighbours are given "
                f"{self.address}. Correct the one that is wrong."
            )
        return ""

    def state(self, now: datetime | None = None) -> AgentState:
        """Return the state of the agent at this time; now, when none is given."""
        if self.revoked_at is not None:
            return AgentState.REVOKED
        if not self.incarnation:
            return AgentState.NEVER
        at = now or timezone.now()
        held = self.lease_until is not None and self.lease_until > at
        return AgentState.LIVE if held else AgentState.SILENT


def in_states(states: Iterable[str], now: datetime) -> Q:
    """Return the condition for agents whose `Agent.state` is one of these at this time."""
    revoked, never = Q(revoked_at__isnull=False), Q(incarnation=0)
    live = Q(lease_until__gt=now)
    conditions = {
        AgentState.REVOKED: revoked,
        AgentState.NEVER: ~revoked & never,
        AgentState.LIVE: ~revoked & ~never & live,
        # A lease that is missing compares to nothing.
        AgentState.SILENT: ~revoked & ~never & (Q(lease_until__isnull=True) | ~live),
    }
    found = Q(pk__in=[])
    for state in states:
        found |= conditions[AgentState(state)]
    return found


class Removal(models.Model):
    """Store a broker that a plan removed because it was gone for good, and what it held when last
    heard.

    Nobody waits for it until an agent is enrolled for it again.
    """

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="removals")
    broker = models.ForeignKey(Broker, on_delete=models.CASCADE, related_name="removals")
    at = models.DateTimeField(default=timezone.now)
    over_at = models.DateTimeField(null=True, help_text="When an agent was enrolled again.")
    held: "models.JSONField[Any, Any]" = models.JSONField(
        default=dict, help_text="What it measured last: messages by flow and by link, and when."
    )

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["system", "over_at"], name="removal_by_system")]

    def __str__(self) -> str:
        return f"removal of {self.broker}"


class Sample(models.Model):
    """Store what one broker's agent measured over its last interval; kept for half an hour."""

    broker = models.ForeignKey(Broker, on_delete=models.CASCADE, related_name="samples")
    at = models.DateTimeField()
    payload: "models.JSONField[Any, Any]" = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["broker", "-at"], name="sample_by_broker"),
            models.Index(fields=["at"], name="sample_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.broker} at {self.at:%H:%M:%S}"


class PublisherTimes(models.Model):
    """Store which publishers sent at one broker in one interval, and when; kept for half an
    hour."""

    broker = models.ForeignKey(Broker, on_delete=models.CASCADE, related_name="publisher_times")
    at = models.DateTimeField(help_text="When the agent's message was received.")
    payload = models.BinaryField(help_text="As `domain.publisher_times` packs it.")
    unreported = models.PositiveIntegerField(
        help_text="Further publishers' connections of the broker, of which agents report nothing."
    )

    class Meta:
        indexes = [
            models.Index(fields=["broker", "at"], name="publisher_times_by_broker"),
            models.Index(fields=["at"], name="publisher_times_by_time"),
        ]

    def __str__(self) -> str:
        return f"publishers of {self.broker} at {self.at:%H:%M:%S}"


class Loss(models.Model):
    """Store the messages of one flow that a broker's agent took and could not forward, for one
    reason: all that were ever reported, over all its restarts."""

    broker = models.ForeignKey(Broker, on_delete=models.CASCADE, related_name="losses")
    flow = models.CharField(max_length=200, blank=True, help_text="Empty: nobody knows of which.")
    reason = models.CharField(max_length=40)
    count = models.PositiveBigIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    life = models.FloatField(default=0, help_text="When the process that counts last began.")
    seen = models.PositiveBigIntegerField(default=0, help_text="What that process has counted.")
    recorded = models.PositiveBigIntegerField(default=0, help_text="Of `count`, in the record.")
    recorded_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["last_at"], name="loss_by_time")]
        constraints = [
            models.UniqueConstraint(fields=["broker", "flow", "reason"], name="loss_once"),
        ]

    def __str__(self) -> str:
        return f"{self.count} of {self.flow} at {self.broker}: {self.reason}"


class Level(models.Model):
    """Store what one broker handled over a cell of time; `services.levels` sums samples up."""

    broker = models.ForeignKey(Broker, on_delete=models.CASCADE, related_name="levels")
    cell_s = models.PositiveIntegerField(help_text="How long the cell is, seconds.")
    at = models.DateTimeField(help_text="When it begins.")
    handled_per_s = models.FloatField(help_text="Mean of messages in and out, msg/s.")
    measured_s = models.FloatField(help_text="Seconds of it that were measured.")

    class Meta:
        indexes = [models.Index(fields=["cell_s", "at"], name="level_by_time")]
        constraints = [
            models.UniqueConstraint(fields=["broker", "cell_s", "at"], name="level_once"),
            models.CheckConstraint(
                condition=Q(handled_per_s__gte=0, measured_s__gt=0), name="level_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.broker} from {self.at:%d %b %H:%M}, {self.cell_s} s"
