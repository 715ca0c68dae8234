"""Store the traffic and its consumers: topics, publishers, classes, utilities, SLOs, streams,
interests and imports of them."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from apps.common.models import BaseModel
from apps.systems.models import Entity, System, entity_constraints
from apps.topology.models import Broker, Link
from weir.coordination.wire import reliable_flow_too_long
from weir.errors import InvalidProblem
from weir.lifecycle.imports import IMPORTS, ImportState
from weir.utility import kinds, utility_from_dict


def finite(*names: str, optional: bool = False) -> Q:
    """Return the condition that all of the columns hold finite numbers that are not negative."""
    condition = Q()
    for name in names:
        sound = Q(**{f"{name}__gte": 0, f"{name}__lt": float("inf")})
        condition &= (Q(**{name: None}) | sound) if optional else sound
    return condition


class Pattern(models.TextChoices):
    """Name how messages of a topic travel (Gryphon paper, section II)."""

    ONE_TO_MANY = "one_to_many", "One to many"
    ONE_TO_ONE = "one_to_one", "One to one"
    REQUEST_RESPONSE = "request_response", "Request-response"


class Delivery(models.TextChoices):
    """Name what is guaranteed for each message."""

    BEST_EFFORT = "best_effort", "Best effort"
    RELIABLE = "reliable", "Reliable"


class CorrelationKey(Entity):
    """Store a label of publishers that tend to send at the same moment."""

    description = models.TextField(blank=True)

    class Meta:
        ordering = ["name"]
        constraints = entity_constraints("correlation_key")


class Group(Entity):
    """Store a channel (multicast group, broker exchange) that carries several streams."""

    number = models.PositiveIntegerField()

    class Meta:
        ordering = ["number"]
        constraints = [
            *entity_constraints("group"),
            models.UniqueConstraint(fields=["system", "number"], name="group_number_once"),
        ]


class Stream(Entity):
    """Store a transport session that carries several topics; it is in at most one group."""

    number = models.PositiveIntegerField()
    group = models.ForeignKey(
        Group, on_delete=models.PROTECT, null=True, blank=True, related_name="streams"
    )
    pinned_group = models.ForeignKey(
        Group,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The group that mappings leave it in, or bring it to; null: any.",
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            *entity_constraints("stream"),
            models.UniqueConstraint(fields=["system", "number"], name="stream_number_once"),
        ]


class Topic(Entity):
    """Store a topic, as users name it; the optimizer sees its routed traffic as one flow."""

    description = models.TextField(blank=True)
    pattern = models.CharField(max_length=20, choices=Pattern.choices, default=Pattern.ONE_TO_MANY)
    delivery = models.CharField(
        max_length=16, choices=Delivery.choices, default=Delivery.BEST_EFFORT
    )
    rate_min_per_s = models.FloatField(default=0.0)
    rate_max_per_s = models.FloatField()
    source = models.ForeignKey(
        Broker, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    token_rate_per_s = models.FloatField(null=True, blank=True)
    token_bucket = models.FloatField(null=True, blank=True, help_text="Burst in messages.")
    recorded_bucket = models.FloatField(
        null=True,
        blank=True,
        help_text="Smallest bucket, in messages, with which 99 % of the topic's recorded messages "
        "find a token at one broker, at its token rate: what `manage.py measure_buckets` computes. "
        "Placements go by it; null: they take publishers to send at random.",
    )
    batch = models.PositiveIntegerField(
        default=1, help_text="Messages that a publisher sends at a time."
    )
    stream = models.ForeignKey(
        Stream, on_delete=models.PROTECT, null=True, blank=True, related_name="topics"
    )
    pinned_stream = models.ForeignKey(
        Stream,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The stream that mappings leave it in, or bring it to; null: any.",
    )
    children = {"node_costs": ("broker", "resource"), "link_costs": ("link",)}
    enforced_as = "flow"

    class Meta:
        ordering = ["name"]
        constraints = [
            *entity_constraints("topic"),
            models.CheckConstraint(
                condition=finite("rate_min_per_s", "rate_max_per_s"),
                name="topic_rates_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(rate_min_per_s__lte=F("rate_max_per_s")),
                name="topic_rate_min_at_most_rate_max",
            ),
            models.CheckConstraint(
                condition=finite("token_rate_per_s", "token_bucket", optional=True),
                name="topic_token_bucket_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(token_rate_per_s=None, token_bucket=None)
                | Q(token_rate_per_s__isnull=False, token_bucket__isnull=False),
                name="topic_token_bucket_whole_or_absent",
            ),
            models.CheckConstraint(
                condition=Q(recorded_bucket=None)
                | Q(recorded_bucket__gte=1, recorded_bucket__lt=float("inf")),
                name="topic_recorded_bucket_finite_at_least_one",
            ),
            models.CheckConstraint(
                condition=Q(recorded_bucket=None) | Q(token_bucket__isnull=False),
                name="topic_recorded_bucket_has_a_token_bucket",
            ),
            models.CheckConstraint(condition=Q(batch__gt=0), name="topic_batch_positive"),
            models.CheckConstraint(
                condition=Q(pattern__in=Pattern.values) & Q(delivery__in=Delivery.values),
                name="topic_pattern_and_delivery_known",
            ),
        ]

    def clean(self) -> None:
        """Check that brokers can name streams after a reliable topic."""
        super().clean()
        too_long = reliable_flow_too_long(self.name) if self.delivery == Delivery.RELIABLE else ""
        if too_long and not self.system.model_only:
            raise ValidationError(
                {
                    "name": f"Too long for a reliable topic: it {too_long}. Shorten it, or make "
                    "the topic best effort, which needs no stream."
                }
            )


class TopicNodeCost(models.Model):
    """Store the work at a broker per message of the topic, whoever receives it (F in the LRGP
    paper)."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="node_costs")
    broker = models.ForeignKey(Broker, on_delete=models.PROTECT, related_name="+")
    resource = models.CharField(max_length=32)
    cost = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["topic", "broker", "resource"], name="topic_node_cost_once"
            ),
            models.CheckConstraint(condition=finite("cost"), name="topic_node_cost_finite"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} at {self.broker}: {self.cost} {self.resource}"


class TopicLinkCost(models.Model):
    """Store the work on a link per message of the topic (L in the LRGP paper)."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="link_costs")
    link = models.ForeignKey(Link, on_delete=models.PROTECT, related_name="+")
    cost = models.FloatField(default=1.0)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["topic", "link"], name="topic_link_cost_once"),
            models.CheckConstraint(condition=finite("cost"), name="topic_link_cost_finite"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} on {self.link}: {self.cost}"


class Publisher(Entity):
    """Store a client that sends on one topic."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="publishers")
    broker = models.ForeignKey(
        Broker, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    correlation_key = models.ForeignKey(
        CorrelationKey, on_delete=models.PROTECT, null=True, blank=True, related_name="publishers"
    )
    rate_per_s = models.FloatField(default=0.0)
    pinned = models.BooleanField(
        default=False, help_text="Whether it stays at its broker, whatever a placement finds."
    )
    enforced_as = "publisher"

    class Meta:
        ordering = ["name"]
        constraints = [
            *entity_constraints("publisher"),
            models.CheckConstraint(condition=finite("rate_per_s"), name="publisher_rate_finite"),
            models.CheckConstraint(
                condition=Q(pinned=False) | Q(broker__isnull=False),
                name="publisher_pinned_has_a_broker",
            ),
        ]


def utility_kind_choices() -> list[tuple[str, str]]:
    """Return the kinds of `weir/utility/`; as a callable, so that a new kind makes no migration."""
    return [(name, name) for name in sorted(kinds())]


class UtilityFunction(Entity):
    """Store what one admitted consumer is worth at a rate; several classes may share a function."""

    kind = models.CharField(max_length=32, choices=utility_kind_choices)
    parameters: "models.JSONField[Any, Any]" = models.JSONField(default=dict)

    class Meta:
        ordering = ["name"]
        constraints = entity_constraints("utility_function")

    def clean(self) -> None:
        """Check the parameters with the kernel, which knows what the kind takes; its error is the
        field's."""
        super().clean()
        if self.kind not in kinds():
            return
        if not isinstance(self.parameters, dict):
            raise ValidationError({"parameters": "An object of the kind's parameters."})
        try:
            utility_from_dict({"kind": self.kind, **self.parameters}, "")
        except InvalidProblem as error:
            where = error.path.lstrip(".")
            message = f"{where}: {error.message}" if where else error.message
            raise ValidationError({"parameters": message}) from error


class ConsumerClass(Entity):
    """Store the consumers of one topic at one broker that share a utility function and a cost."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="consumer_classes")
    broker = models.ForeignKey(Broker, on_delete=models.PROTECT, related_name="consumer_classes")
    utility = models.ForeignKey(
        UtilityFunction, on_delete=models.PROTECT, related_name="consumer_classes"
    )
    tier = models.CharField(
        max_length=32, blank=True, help_text="For people: gold, silver, bronze."
    )
    population_max = models.PositiveIntegerField(help_text="Consumers that want to be admitted.")
    children = {"costs": ("resource",)}
    enforced_as = "class"

    class Meta:
        ordering = ["name"]
        constraints = entity_constraints("consumer_class")


class ConsumerClassCost(models.Model):
    """Store the work per message and admitted consumer of the class (G in the LRGP paper)."""

    consumer_class = models.ForeignKey(
        ConsumerClass, on_delete=models.CASCADE, related_name="costs"
    )
    resource = models.CharField(max_length=32)
    cost = models.FloatField()

    class Meta:
        ordering = ["resource"]
        constraints = [
            models.UniqueConstraint(
                fields=["consumer_class", "resource"], name="class_cost_once_per_resource"
            ),
            models.CheckConstraint(condition=finite("cost"), name="class_cost_finite"),
        ]

    def __str__(self) -> str:
        return f"{self.consumer_class}: {self.cost} {self.resource}"


class Quantity(models.TextChoices):
    """Name what an SLO promises, with its unit."""

    DELAY_P50_S = "delay_p50_s", "Median delay, s"
    DELAY_P99_S = "delay_p99_s", "99th percentile of delay, s"
    DELAY_MEAN_S = "delay_mean_s", "Mean delay, s"
    LOSS_RATIO = "loss_ratio", "Lost messages, ratio"
    RATE_PER_S = "rate_per_s", "Delivered rate, msg/s, at least"


class Slo(Entity):
    """Store a target on a measured quantity of a topic over a window."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="slos")
    quantity = models.CharField(max_length=20, choices=Quantity.choices)
    target = models.FloatField()
    objective = models.FloatField(
        default=0.99, help_text="Share of the window in which the target must hold."
    )
    window_s = models.PositiveIntegerField(default=30 * 86_400)

    class Meta:
        ordering = ["name"]
        constraints = [
            *entity_constraints("slo"),
            models.CheckConstraint(
                condition=Q(quantity__in=Quantity.values), name="slo_quantity_known"
            ),
            models.CheckConstraint(condition=finite("target"), name="slo_target_finite"),
            models.CheckConstraint(
                condition=Q(objective__gt=0) & Q(objective__lt=1),
                name="slo_objective_between_0_and_1",
            ),
            models.CheckConstraint(condition=Q(window_s__gt=0), name="slo_window_positive"),
        ]


class Subscriber(Entity):
    """Store a user of the messaging system, with the topics it wants."""

    description = models.TextField(blank=True)
    broker = models.ForeignKey(
        Broker, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    children = {"interests": ("topic",)}

    class Meta:
        ordering = ["name"]
        constraints = entity_constraints("subscriber")


class Interest(models.Model):
    """Store that a subscriber wants a topic."""

    subscriber = models.ForeignKey(Subscriber, on_delete=models.CASCADE, related_name="interests")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="interests")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["subscriber", "topic"], name="interest_once")
        ]

    def __str__(self) -> str:
        return f"{self.subscriber} wants {self.topic}"


class ImportMode(models.TextChoices):
    """Name what an import does with the interests that it lists."""

    ADD = "add", "Add"
    REMOVE = "remove", "Remove"
    REPLACE = "replace", "Replace"


class ImportPhase(models.TextChoices):
    """Name what an import is doing, in its order."""

    READ = "read", "Read"
    MATCH = "match", "Match"
    COMPARE = "compare", "Compare"
    WRITE = "write", "Write"


IMPORT_STATES = sorted(state.value for state in ImportState)
IMPORT_ENDED = sorted(state.value for state in IMPORTS.ended)


class InterestImport(BaseModel):
    """Store one import of interests: what was sent, how far it is, what it changed."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="interest_imports")
    number = models.PositiveIntegerField()
    mode = models.CharField(max_length=8, choices=ImportMode.choices)
    dry_run = models.BooleanField(default=False)
    create_missing: "ArrayField[list[str], list[str]]" = ArrayField(
        models.CharField(max_length=32), default=list
    )
    reason = models.CharField(max_length=500, blank=True)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    media_type = models.CharField(max_length=32)
    size_bytes = models.PositiveIntegerField()

    state = models.CharField(max_length=16, default=ImportState.QUEUED)
    attempt = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    phase = models.CharField(max_length=8, choices=ImportPhase.choices, default=ImportPhase.READ)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    lines = models.PositiveIntegerField(default=0)
    repeated = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    subscribers_changed = models.PositiveIntegerField(default=0)
    subscribers_created = models.PositiveIntegerField(default=0)
    model_version = models.PositiveIntegerField(null=True)
    error_count = models.PositiveIntegerField(default=0)
    errors: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    failure = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "heartbeat_at"], name="interest_import_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"], name="interest_import_number_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=IMPORT_STATES), name="interest_import_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=IMPORT_ENDED, ended_at__isnull=False)
                | Q(~Q(state__in=IMPORT_ENDED), ended_at=None),
                name="interest_import_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state=ImportState.FAILED) | ~Q(failure=""),
                name="interest_import_failed_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"I-{self.number}"


class InterestImportPiece(models.Model):
    """Store a piece of the compressed file of an import, until that has ended."""

    of = models.ForeignKey(InterestImport, on_delete=models.CASCADE, related_name="pieces")
    place = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["of", "place"], name="interest_import_piece_once")
        ]

    def __str__(self) -> str:
        return f"{self.of}, piece {self.place}"
