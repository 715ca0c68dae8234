"""Store managed messaging systems, and the base of everything that belongs to one."""

from datetime import datetime
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length

from apps.common.models import BaseModel
from apps.systems.domain.labels import is_one_line, label_problem
from weir.coordination.wire import KEEP_S

models.CharField.register_lookup(Length)

LONGEST_EXTERNAL_ID = 200
CONTROL_CHARACTER = "Holds a control character, such as a line break."
NAME_HELP = "Unique within its kind; letters, digits and . _ - / are safe everywhere."


def default_resources() -> list[str]:
    """Return the resources of a new system: most systems are bounded by CPU alone."""
    return ["cpu"]


LEAST_RETENTION_S = 120
"""The time for which a publisher's repetition is recognised."""
MOST_RETENTION_S = 30 * 86_400


class Product(models.TextChoices):
    """Name the messaging product of a system."""

    SIMULATED = "simulated", "Simulated"
    NATS = "nats", "NATS"
    KAFKA = "kafka", "Kafka"
    RABBITMQ = "rabbitmq", "RabbitMQ"
    MQTT = "mqtt", "MQTT"


WITH_DRIVER = frozenset({Product.SIMULATED.value, Product.NATS.value})
"""Products that agents have a driver for (`agent/drivers/`); systems of other products are only
modelled."""

Edition = tuple[UUID, int, datetime]
"""Public id of a system, version of its model, and when its row was written last."""


class UnmanagedAccess(models.TextChoices):
    """Name what clients that belong to no consumer class may do at the brokers;
    `weir.coordination.wire` uses the same names for agents."""

    REFUSE = "refuse", "Refuse"
    REPORT = "report", "Let in, and report"
    ALLOW = "allow", "Let in"


class Labelled(BaseModel):
    """Something that other systems know by an id of their own and describe by labels.

    Neither is part of the model: plans and computations do not depend on them.
    """

    # Null where there is none: the constraint takes any number of them.
    external_id = models.CharField(  # noqa: DJ001
        max_length=LONGEST_EXTERNAL_ID,
        null=True,
        blank=True,
        default=None,
        help_text="Its id in another system, which Weir only keeps.",
    )
    labels: "models.JSONField[dict[str, str], dict[str, str]]" = models.JSONField(
        default=dict, db_default={}, blank=True
    )

    class Meta:
        abstract = True

    def clean(self) -> None:
        """Check what the database does not: that the id is one line of text, and the labels."""
        super().clean()
        if not is_one_line(self.external_id or ""):
            raise ValidationError({"external_id": CONTROL_CHARACTER})
        problem = label_problem(self.labels)
        if problem:
            raise ValidationError({"labels": problem})


class System(Labelled):
    """Store one managed messaging system. Every edit of its model advances `model_version`."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True)
    product = models.CharField(max_length=16, choices=Product.choices, default=Product.SIMULATED)
    resources: "ArrayField[list[str], list[str]]" = ArrayField(
        models.CharField(max_length=32), default=default_resources, size=8
    )
    model_version = models.PositiveIntegerField(default=1, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    # Not a part of the model: in force as soon as an administrator has set it.
    unmanaged = models.CharField(
        max_length=8,
        choices=UnmanagedAccess.choices,
        default=UnmanagedAccess.REFUSE,
        editable=False,
    )
    access_version = models.PositiveIntegerField(default=0, editable=False)
    retention_s = models.PositiveIntegerField(
        default=KEEP_S,
        editable=False,
        help_text="For how long brokers keep delivered reliable messages, s.",
    )
    retention_version = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(retention_s__gte=LEAST_RETENTION_S)
                & Q(retention_s__lte=MOST_RETENTION_S),
                name="system_retention_in_bounds",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="system_name_given"),
            models.CheckConstraint(
                condition=Q(product__in=Product.values), name="system_product_known"
            ),
            models.CheckConstraint(
                condition=Q(resources__len__gte=1), name="system_has_a_resource"
            ),
            models.CheckConstraint(
                condition=Q(unmanaged__in=UnmanagedAccess.values), name="system_unmanaged_known"
            ),
            models.UniqueConstraint(fields=["external_id"], name="system_external_id_once"),
        ]

    @property
    def model_only(self) -> bool:
        """Return whether the system can only be modelled because no agent can drive its product."""
        return self.product not in WITH_DRIVER

    @property
    def edition(self) -> Edition:
        """Identify the model as it is now. A restored database may use a version number again."""
        return self.public_id, self.model_version, self.updated_at

    def __str__(self) -> str:
        return self.name


class Entity(Labelled):
    """Store a named object that belongs to one system; only `apps.systems.services` edits it."""

    system = models.ForeignKey(System, on_delete=models.CASCADE)
    name = models.CharField(max_length=200, help_text=NAME_HELP)
    version = models.PositiveIntegerField(default=1, editable=False)

    # Child tables edited together with their parent: related name -> what identifies a child.
    children: "dict[str, tuple[str, ...]]" = {}
    # The member of settings in force that names it; empty for objects that agents never get.
    enforced_as = ""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @classmethod
    def audited_as(cls) -> str:
        """Return the kind of object under which the audit record has its edits."""
        return str(cls._meta.verbose_name).replace(" ", "_")

    def clean(self) -> None:
        """Check the name, which becomes an id in the kernel's problem and takes no control
        characters."""
        super().clean()
        if not is_one_line(self.name):
            raise ValidationError({"name": CONTROL_CHARACTER})


def entity_constraints(prefix: str) -> list[models.BaseConstraint]:
    """Return the constraints of every entity: name and external id are unique in its system."""
    return [
        models.UniqueConstraint(fields=["system", "name"], name=f"{prefix}_name_once_per_system"),
        models.UniqueConstraint(
            fields=["system", "external_id"], name=f"{prefix}_external_id_once_per_system"
        ),
        models.CheckConstraint(condition=~Q(name=""), name=f"{prefix}_name_given"),
    ]
