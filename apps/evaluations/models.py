"""Store evaluations of the overlay in force, and the candidates that each of them compared."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.executions.models import Execution
from apps.runs.models import Computed
from apps.systems.models import System
from apps.topology.models import Overlay
from weir.model.evaluation import Disruption


class CandidateKind(models.TextChoices):
    """Name where a candidate's tree comes from."""

    TODAY = "today", "The overlay in force: do nothing"
    GOAL = "goal", "A stored goal topology"
    METHOD = "method", "Found by a method"


class TrafficSource(models.TextChoices):
    """Name where the rates between brokers come from."""

    MEASURED = "measured", "Measured by agents"
    MODEL = "model", "Taken from the model"


class Objective(models.TextChoices):
    """Name what a plan minimises first."""

    ACTIONS = "actions", "Few actions"
    STEPS = "steps", "Few steps"


class Evaluation(Computed):
    """Store one evaluation: is a tree better than the one in force, and worth the
    transformation?"""

    LETTER = "O"
    LARGE = ("edges", "subscribers")

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="overlay_evaluations")
    overlay = models.ForeignKey(Overlay, on_delete=models.SET_NULL, null=True, related_name="+")
    overlay_name = models.CharField(max_length=200, help_text="The overlay in force it began from.")
    edges: "models.JSONField[Any, Any]" = models.JSONField(help_text="Its links then.")
    goals: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    objective = models.CharField(max_length=8, choices=Objective.choices)
    methods: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    planners: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    seeds: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    options: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    horizon_s = models.FloatField()
    window_s = models.FloatField()
    traffic: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    shift_pause_s = models.FloatField(
        default=Disruption().pause_s,
        help_text="How long a shift was taken to pause its brokers, s.",
    )
    shifts_measured = models.PositiveIntegerField(
        default=0, help_text="Shifts of this system that say so; 0 where it is assumed."
    )
    subscribers: "models.JSONField[Any, Any]" = models.JSONField(
        default=dict, help_text="Consumers by topic and broker."
    )
    note = models.TextField(blank=True)
    continues = models.ForeignKey(
        Execution,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        help_text="The broken-off execution that it plans on from.",
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    why: "models.JSONField[Any, Any]" = models.JSONField(
        default=list, help_text="Sentences: what is recommended and for which figures."
    )

    class Meta(Computed.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"], name="evaluation_number_once_per_system"
            ),
            models.CheckConstraint(
                condition=Q(objective__in=sorted(Objective.values)),
                name="evaluation_objective_known",
            ),
            models.CheckConstraint(
                condition=Q(horizon_s__gt=0, horizon_s__lt=float("inf"))
                & Q(window_s__gt=0, window_s__lt=float("inf"))
                & Q(shift_pause_s__gte=0, shift_pause_s__lt=float("inf")),
                name="evaluation_times_positive_finite",
            ),
        ]


class Candidate(BaseModel):
    """Store one tree with the plan for it: the costs of routing and of the transformation, and the
    net benefit.

    Costs are in link messages: one message over one link. Figures are null where a method found
    no tree, or where no planner found a way to it.
    """

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="candidates")
    index = models.PositiveIntegerField(help_text="Position in the evaluation; 0 is today's tree.")
    kind = models.CharField(max_length=8, choices=CandidateKind.choices)
    name = models.CharField(max_length=300)
    method = models.CharField(max_length=64, blank=True)
    seed = models.PositiveIntegerField(default=0)
    title = models.CharField(max_length=300)
    goal = models.ForeignKey(Overlay, on_delete=models.SET_NULL, null=True, related_name="+")
    rank = models.PositiveIntegerField(help_text="By net benefit, 1 first.")
    chosen = models.BooleanField(default=False, help_text="The one that Weir recommends.")
    status = models.CharField(max_length=16)
    reason = models.TextField(blank=True)
    same_as = models.CharField(max_length=300, blank=True)

    edges: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    links: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    brokers: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    routing_cost_per_s = models.FloatField(null=True)
    traffic_per_s = models.FloatField(null=True)
    in_flight = models.FloatField(null=True)
    busiest_broker = models.CharField(max_length=200, blank=True)
    busiest_share = models.FloatField(null=True)
    overloaded: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    max_degree = models.PositiveIntegerField(null=True)
    links_changed = models.PositiveIntegerField(default=0)
    saved_per_s = models.FloatField(null=True)

    planner = models.CharField(max_length=64, blank=True)
    plan_status = models.CharField(max_length=16, blank=True)
    steps: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    moments: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    frontier: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    actions = models.PositiveIntegerField(null=True)
    lower_bound_actions = models.PositiveIntegerField(null=True)
    steps_count = models.PositiveIntegerField(null=True)
    lower_bound_steps = models.PositiveIntegerField(null=True)
    transformation_cost = models.FloatField(null=True)
    held_messages = models.FloatField(null=True)
    pause_s = models.FloatField(null=True, help_text="Of one action after the other in each step.")
    disturbed_subscribers = models.PositiveBigIntegerField(null=True)
    net_benefit = models.FloatField(null=True)
    runtime_s = models.FloatField(default=0.0)

    class Meta:
        ordering = ["evaluation", "rank", "index"]
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "index"], name="candidate_once"),
            models.UniqueConstraint(
                fields=["evaluation"], condition=Q(chosen=True), name="one_candidate_chosen"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=sorted(CandidateKind.values)), name="candidate_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(actions=None) | Q(net_benefit__isnull=False, steps_count__isnull=False),
                name="candidate_planned_has_figures",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.evaluation} {self.name}"
