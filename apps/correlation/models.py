"""Store analyses of publishers that burst together, and what people decided of each suggestion."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from apps.catalog.models import Topic, finite
from apps.common.models import BaseModel
from apps.runs.models import Computed
from apps.systems.models import System
from weir.lifecycle.suggestions import SuggestionState as State


class Source(models.TextChoices):
    """Name where the times of messages are from."""

    MEASURED = "measured", "Measured by agents"
    RECORDING = "recording", "A recording"


class Kind(models.TextChoices):
    """Name what the members of a suggestion have in common."""

    EVENT = "event", "They send at the same moments"
    PERIOD = "period", "They keep one period at one phase"


SUGGESTION_STATES = [(state.value, state.value.capitalize()) for state in State]


class CorrelationAnalysis(Computed):
    """Store one search for publishers of a topic that burst together; numbered within its
    system."""

    LETTER = "C"
    LARGE = ("outcome",)

    system = models.ForeignKey(
        System, on_delete=models.CASCADE, related_name="correlation_analyses"
    )
    topic = models.ForeignKey(
        Topic, on_delete=models.SET_NULL, null=True, related_name="correlation_analyses"
    )
    topic_name = models.CharField(max_length=200, help_text="The topic's name at that time.")
    source = models.CharField(max_length=16, choices=Source.choices)
    recording = models.CharField(
        max_length=200, blank=True, help_text="Name of the recording; empty: measured by agents."
    )
    since = models.DateTimeField(
        null=True, help_text="When the window begins; null: outside the calendar."
    )
    until = models.DateTimeField(null=True, help_text="When the window ends; null as `since`.")
    within_s = models.FloatField(help_text="How far apart messages are at most that came together.")
    publishers = models.PositiveIntegerField(help_text="Publishers with known moments.")
    judged = models.PositiveIntegerField(
        help_text="Those with enough moments to be told from chance."
    )
    periodic = models.PositiveIntegerField(help_text="Those that keep a period.")
    groups = models.PositiveIntegerField(help_text="Suggestions that were made.")
    note = models.TextField(blank=True)
    outcome: "models.JSONField[Any, Any]" = models.JSONField(
        help_text="The kernel's answer without its groups."
    )
    left_out: "models.JSONField[Any, Any]" = models.JSONField(
        null=True, help_text="What was not searched of what agents measured; null: a recording."
    )

    class Meta(Computed.Meta):
        verbose_name = "correlation analysis"
        verbose_name_plural = "correlation analyses"
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"], name="correlation_number_once_per_system"
            ),
            models.CheckConstraint(
                condition=Q(source=Source.MEASURED, recording="")
                | (Q(source=Source.RECORDING) & ~Q(recording="")),
                name="correlation_source_known",
            ),
            models.CheckConstraint(condition=finite("within_s"), name="correlation_within_finite"),
            models.CheckConstraint(
                condition=Q(judged__lte=F("publishers"), periodic__lte=F("publishers")),
                name="correlation_judges_at_most_all",
            ),
        ]


class Suggestion(BaseModel):
    """Store publishers that may get one correlation key, with the evidence and the decision."""

    analysis = models.ForeignKey(
        CorrelationAnalysis, on_delete=models.CASCADE, related_name="suggestions"
    )
    number = models.PositiveIntegerField(help_text="Within its analysis; 1 is the largest.")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    size = models.PositiveIntegerField()
    members: "models.JSONField[Any, Any]" = models.JSONField(
        help_text="Names of publishers, ascending."
    )
    proposal = models.CharField(
        max_length=200, help_text="A name for the key; each once in an analysis."
    )
    share = models.FloatField(
        help_text="Mean share of a member's moments that are together with the leader's."
    )
    by_chance = models.FloatField(
        help_text="The share that chance would give; of a period, the share of members that have "
        "its phase by chance."
    )
    spread_s = models.FloatField(
        help_text="Median distance of a member's moment from the leader's, s."
    )
    bursts = models.PositiveIntegerField(
        help_text="Moments of the leader at which at least half of the members sent."
    )
    period_s = models.FloatField(null=True, help_text="Null: they keep no period.")
    phase_s = models.FloatField(
        null=True, help_text="When the period begins after the window does, s; null as `period_s`."
    )
    rate_per_s = models.FloatField(help_text="Messages of all members per second of the window.")
    example: "models.JSONField[Any, Any]" = models.JSONField(
        help_text="When some of the members sent in a stretch of the window."
    )
    state = models.CharField(max_length=16, choices=SUGGESTION_STATES, default=State.OPEN)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    note = models.TextField(blank=True, help_text="Why it was decided so.")
    key_name = models.CharField(
        max_length=200, blank=True, help_text="The key that an acceptance gave; else empty."
    )
    applied: "models.JSONField[Any, Any]" = models.JSONField(
        default=dict,
        help_text="What an acceptance changed: `key` and whether it was `made`, and by "
        "publisher its key before (ids; empty: none).",
    )
    effect = models.TextField(
        blank=True, help_text="What the last decision changed, in a sentence."
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["analysis", "number"], name="suggestion_number_once_per_analysis"
            ),
            models.UniqueConstraint(
                fields=["analysis", "proposal"], name="suggestion_proposal_once_per_analysis"
            ),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="suggestion_kind_known"),
            models.CheckConstraint(condition=Q(size__gte=2), name="suggestion_of_several"),
            models.CheckConstraint(
                condition=finite("share", "by_chance", "spread_s", "rate_per_s")
                & finite("period_s", "phase_s", optional=True),
                name="suggestion_numbers_finite",
            ),
            models.CheckConstraint(
                condition=Q(state=State.OPEN, decided_at=None, key_name="")
                | Q(state=State.REJECTED, decided_at__isnull=False, key_name="")
                | (Q(state=State.ACCEPTED, decided_at__isnull=False) & ~Q(key_name="")),
                name="suggestion_decided_or_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.analysis}.{self.number}"
