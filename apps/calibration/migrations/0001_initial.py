import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import weir.lifecycle.fits


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("calibration", "0001_fits_and_corrections"),
        ("calibration", "0002_run_of_a_computed_row"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("catalog", "0001_initial"),
        ("runs", "0001_initial"),
        ("systems", "0001_initial"),
        ("topology", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Fit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s",
                        to="runs.run",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="fits",
                        to="systems.system",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("applied", "Applied"),
                            ("undone", "Undone"),
                            ("discarded", "Discarded"),
                        ],
                        default=weir.lifecycle.fits.FitState["PROPOSED"],
                        max_length=16,
                    ),
                ),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("window_s", models.FloatField()),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("decided_at", models.DateTimeField(null=True)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "number"), name="fit_number_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["proposed", "applied", "undone", "discarded"])
                        ),
                        name="fit_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at", None), ("state", "proposed")),
                            models.Q(
                                models.Q(("state", "proposed"), _negated=True),
                                ("decided_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="fit_decided_has_a_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FitCase",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "fit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cases",
                        to="calibration.fit",
                    ),
                ),
                ("broker", models.CharField(max_length=200)),
                ("resource", models.CharField(max_length=32)),
                ("measure", models.CharField(max_length=16)),
                ("capacity", models.FloatField()),
                ("points", models.PositiveIntegerField()),
                ("enough", models.BooleanField()),
                ("condition", models.FloatField(null=True)),
                ("r_squared", models.FloatField(null=True)),
                ("residual_sd", models.FloatField(null=True)),
                ("scatter", models.JSONField(default=list)),
                ("advice", models.JSONField(default=list)),
            ],
            options={
                "ordering": ["broker", "resource"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("fit", "broker", "resource"), name="fit_case_once_per_resource"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Coefficient",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="coefficients",
                        to="calibration.fitcase",
                    ),
                ),
                ("kind", models.CharField(max_length=8)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("flow", models.CharField(blank=True, max_length=200)),
                (
                    "old",
                    models.FloatField(
                        help_text="In the model when the telemetry was read.", null=True
                    ),
                ),
                ("value", models.FloatField()),
                ("low", models.FloatField()),
                ("high", models.FloatField(null=True)),
                ("vif", models.FloatField(null=True)),
                ("identified", models.BooleanField()),
                ("applied", models.BooleanField(default=False)),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("case", "kind", "name"), name="coefficient_once_per_case"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("low__gte", 0), ("value__gte", 0), ("low__lte", models.F("value"))
                        ),
                        name="coefficient_not_negative_and_in_its_interval",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LatencyBound",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "topic",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="latency_bound",
                        to="catalog.topic",
                    ),
                ),
                ("ack_s", models.FloatField()),
                ("producers", models.PositiveIntegerField()),
                ("bound_per_s", models.FloatField(null=True)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["topic__name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("bound_per_s", None), ("bound_per_s__gt", 0), _connector="OR"
                        ),
                        name="latency_bound_positive",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CalibrationSettings",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "system",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calibration",
                        to="systems.system",
                    ),
                ),
                (
                    "correct_errors",
                    models.BooleanField(
                        default=False,
                        help_text="Snapshots scale costs by measured over predicted load.",
                    ),
                ),
                (
                    "bound_latency",
                    models.BooleanField(
                        default=False,
                        help_text="Snapshots cap reliable flows at what their producers can send.",
                    ),
                ),
                ("factor_min", models.FloatField(default=0.5)),
                ("factor_max", models.FloatField(default=2.0)),
                (
                    "smoothing",
                    models.FloatField(
                        default=0.2, help_text="Weight of the newest ratio, up to 1."
                    ),
                ),
                (
                    "cores",
                    models.FloatField(
                        blank=True,
                        help_text="Cores that a broker's capacity means; null: as reported.",
                        null=True,
                    ),
                ),
                (
                    "messages_per_transaction",
                    models.FloatField(
                        default=1.0,
                        help_text="Messages that a reliable producer sends per acknowledgement.",
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                "verbose_name_plural": "calibration settings",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("factor_min__gt", 0),
                            ("factor_min__lte", 1),
                            ("factor_max__gte", 1),
                            ("factor_max__lte", 100),
                        ),
                        name="calibration_factors_around_1",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("smoothing__gt", 0), ("smoothing__lte", 1)),
                        name="calibration_smoothing_above_0_at_most_1",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("cores", None),
                            models.Q(("cores__gt", 0), ("cores__lt", 1000000.0)),
                            _connector="OR",
                        ),
                        name="calibration_cores_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("messages_per_transaction__gt", 0),
                            ("messages_per_transaction__lt", 1000000000.0),
                        ),
                        name="calibration_messages_per_transaction_positive",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Correction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="corrections",
                        to="topology.broker",
                    ),
                ),
                ("resource", models.CharField(max_length=32)),
                ("ratio", models.FloatField(default=1.0)),
                ("factor", models.FloatField(default=1.0)),
                ("clamped", models.CharField(blank=True, max_length=8)),
                ("measured", models.FloatField(default=0.0)),
                ("predicted", models.FloatField(default=0.0)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["broker__name", "resource"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("broker", "resource"), name="correction_once_per_resource"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("factor__gt", 0)), name="correction_factor_positive"
                    ),
                ],
            },
        ),
    ]
