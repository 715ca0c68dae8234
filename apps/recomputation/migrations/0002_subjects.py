"""Store what rules compute again; let triggers watch loads and routing of the overlay."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("plans", "0004_answerable_person"),
        ("recomputation", "0001_recomputation"),
        ("runs", "0002_run_starts_from"),
        ("systems", "0002_one_system"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="firing",
            name="one_firing_waits_per_system",
        ),
        migrations.RemoveConstraint(
            model_name="firing",
            name="one_firing_computes_per_system",
        ),
        migrations.RemoveConstraint(
            model_name="trigger",
            name="trigger_kind_known",
        ),
        migrations.AddField(
            model_name="firing",
            name="least_benefit",
            field=models.FloatField(default=0.0),
        ),
        migrations.AddField(
            model_name="firing",
            name="subject",
            field=models.CharField(
                choices=[
                    ("allocation", "Rates and admitted consumers"),
                    ("overlay", "The overlay tree"),
                ],
                default="allocation",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="schedule",
            name="least_benefit",
            field=models.FloatField(
                default=0.0, help_text="Net benefit above which a candidate overlay becomes a plan."
            ),
        ),
        migrations.AddField(
            model_name="schedule",
            name="subject",
            field=models.CharField(
                choices=[
                    ("allocation", "Rates and admitted consumers"),
                    ("overlay", "The overlay tree"),
                ],
                default="allocation",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="trigger",
            name="least_benefit",
            field=models.FloatField(
                default=0.0, help_text="Net benefit above which a candidate overlay becomes a plan."
            ),
        ),
        migrations.AddField(
            model_name="trigger",
            name="subject",
            field=models.CharField(
                choices=[
                    ("allocation", "Rates and admitted consumers"),
                    ("overlay", "The overlay tree"),
                ],
                default="allocation",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="trigger",
            name="kind",
            field=models.CharField(
                choices=[
                    ("capacity_change", "Capacities in the model changed"),
                    ("population_change", "Populations in the model changed"),
                    ("slo_breach", "Service-level objectives are missed"),
                    ("load_drift", "Measured load left the model's"),
                    ("broker_overload", "A broker is near or above its capacity"),
                    ("routing_drift", "Routing costs moved since the last evaluation"),
                ],
                max_length=24,
            ),
        ),
        migrations.AddConstraint(
            model_name="firing",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "waiting")),
                fields=("system", "subject"),
                name="one_firing_waits_per_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="firing",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "computing")),
                fields=("system", "subject"),
                name="one_firing_computes_per_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="firing",
            constraint=models.CheckConstraint(
                condition=models.Q(("subject__in", ["allocation", "overlay"])),
                name="firing_subject_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("subject__in", ["allocation", "overlay"])),
                name="schedule_subject_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("least_benefit__gte", 0), ("least_benefit__lt", float("inf"))),
                name="schedule_least_benefit_sound",
            ),
        ),
        migrations.AddConstraint(
            model_name="trigger",
            constraint=models.CheckConstraint(
                condition=models.Q(("subject__in", ["allocation", "overlay"])),
                name="trigger_subject_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="trigger",
            constraint=models.CheckConstraint(
                condition=models.Q(("least_benefit__gte", 0), ("least_benefit__lt", float("inf"))),
                name="trigger_least_benefit_sound",
            ),
        ),
        migrations.AddConstraint(
            model_name="trigger",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "capacity_change",
                            "population_change",
                            "slo_breach",
                            "load_drift",
                            "broker_overload",
                            "routing_drift",
                        ],
                    )
                ),
                name="trigger_kind_known",
            ),
        ),
    ]
