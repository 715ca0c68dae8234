"""Store sums of records by minute, to which each batch is added once, and how objectives held.

A minute of a system has a row for each combination of keys. Measures merge by addition, as minima
or as maxima: batches come in any order. What is received as a name has 200 characters at most, a
metric 64 (spark_tasks/sent_records.py): an index holds three names and a metric, and no more.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.catalog.models import Quantity, Slo
from apps.pipeline.domain.error_budget import Severity, Standing
from apps.pipeline.domain.verdicts import Evidence
from apps.systems.models import System


class MinuteSum(models.Model):
    """Give a row its system and its minute."""

    # Its index begins each primary key.
    system = models.ForeignKey(
        System, on_delete=models.CASCADE, related_name="+", db_index=False, editable=False
    )
    since_s = models.BigIntegerField(help_text="When the minute begins, Unix seconds.")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class PublishedSum(MinuteSum):
    """Store what came in of a topic at a broker in a minute."""

    pk = models.CompositePrimaryKey("system_id", "since_s", "topic", "broker")
    topic = models.TextField(db_collation="C")
    broker = models.TextField(db_collation="C")
    messages = models.BigIntegerField()
    bytes = models.BigIntegerField()


class ReceivedSum(MinuteSum):
    """Store what a class of consumers received of a topic at a broker in a minute."""

    pk = models.CompositePrimaryKey("system_id", "since_s", "topic", "consumer_class", "broker")
    topic = models.TextField(db_collation="C")
    consumer_class = models.TextField(db_collation="C")
    broker = models.TextField(db_collation="C")
    messages = models.BigIntegerField(help_text="Once for each consumer that received one.")
    bytes = models.BigIntegerField()


class RequestedSum(MinuteSum):
    """Store the requests of a class of consumers, by topic and broker, in a minute."""

    pk = models.CompositePrimaryKey("system_id", "since_s", "topic", "consumer_class", "broker")
    topic = models.TextField(db_collation="C")
    consumer_class = models.TextField(db_collation="C")
    broker = models.TextField(db_collation="C")
    messages = models.BigIntegerField()
    unanswered = models.BigIntegerField()
    bytes = models.BigIntegerField()


class DelaySum(MinuteSum):
    """Store a bin of the delays of a topic and a class of consumers in a minute."""

    pk = models.CompositePrimaryKey(
        "system_id", "since_s", "topic", "kind", "consumer_class", "bin"
    )
    topic = models.TextField(db_collation="C")
    kind = models.TextField(
        db_collation="C",
        help_text="`delivery`, `answer`: of a request until then, or `gate`: at that of the topic.",
    )
    consumer_class = models.TextField(db_collation="C")
    bin = models.SmallIntegerField(help_text="As weir/queueing/delay_histograms.py numbers them.")
    messages = models.BigIntegerField()
    longest_s = models.FloatField()


class MeasuredSum(MinuteSum):
    """Store what a metric of a broker, or of a topic or class there, came to in a minute."""

    pk = models.CompositePrimaryKey(
        "system_id", "since_s", "broker", "topic", "consumer_class", "metric"
    )
    broker = models.TextField(db_collation="C")
    topic = models.TextField(db_collation="C", help_text="Empty: of the broker as a whole.")
    consumer_class = models.TextField(db_collation="C", help_text="Empty: of no class alone.")
    metric = models.TextField(db_collation="C")
    samples = models.BigIntegerField()
    total = models.DecimalField(
        max_digits=38, decimal_places=9, help_text="Of values rounded to 1e-9: exact."
    )
    least = models.FloatField()
    most = models.FloatField()


SUMS: dict[str, type[MinuteSum]] = {
    "published": PublishedSum,
    "received": ReceivedSum,
    "requested": RequestedSum,
    "delays": DelaySum,
    "measured": MeasuredSum,
}
"""By name, in the order in which batches are added: all that add lock rows in one order."""


class ObjectiveTerm(models.Model):
    """Store what an objective promises, and since when: another promise has another budget."""

    slo = models.OneToOneField(Slo, on_delete=models.CASCADE, primary_key=True, related_name="term")
    topic = models.TextField()
    quantity = models.CharField(max_length=20, choices=Quantity.choices)
    target = models.FloatField()
    objective = models.FloatField()
    window_s = models.PositiveIntegerField()
    since_s = models.BigIntegerField(help_text="When its first minute begins, Unix seconds.")
    slo_version = models.PositiveIntegerField(
        default=0, help_text="Of the objective, for which this was worked out."
    )
    topic_version = models.PositiveIntegerField(default=0, help_text="Likewise of its topic.")
    standing = models.CharField(
        max_length=16,
        choices=[(each.value, each.value) for each in Standing],
        default=Standing.NOT_MEASURED.value,
    )
    stood_s = models.BigIntegerField(
        default=0, help_text="The minute in which how it stands was worked out last, Unix seconds."
    )
    alert = models.CharField(
        max_length=16,
        choices=[(each.value, each.value) for each in Severity],
        blank=True,
        help_text="What people are called to; empty: nothing burns.",
    )
    fired_s: "ArrayField[list[int | None], list[int | None]]" = ArrayField(
        models.BigIntegerField(null=True),
        default=list,
        help_text="Of each alert that goes on, when it fired last, Unix seconds.",
    )
    spent_s = models.BigIntegerField(
        null=True, help_text="When its budget was spent last; null: it is not."
    )

    def __str__(self) -> str:
        return f"term {self.pk}"


class ChangedMinute(MinuteSum):
    """Store that sums of a topic with an objective changed since they were judged last."""

    pk = models.CompositePrimaryKey("system_id", "since_s", "topic")
    topic = models.TextField(db_collation="C")


class JudgedMinute(models.Model):
    """Store whether the target of an objective held in a minute."""

    pk = models.CompositePrimaryKey("slo_id", "since_s")
    # Its index begins the primary key.
    slo = models.ForeignKey(
        Slo, on_delete=models.CASCADE, related_name="+", db_index=False, editable=False
    )
    since_s = models.BigIntegerField(help_text="When the minute begins, Unix seconds.")
    value = models.FloatField(help_text="In the unit of the quantity.")
    has_held = models.BooleanField()
    has_too_few = models.BooleanField(
        help_text="So few messages that a single one may have decided."
    )
    messages = models.FloatField(help_text="How many it was judged by; of rates, about.")
    evidence = models.CharField(
        max_length=10, choices=[(each.value, each.value) for each in Evidence]
    )

    def __str__(self) -> str:
        return f"judged minute {self.pk}"
