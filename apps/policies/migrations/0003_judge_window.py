from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0002_demand_band")]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="judge_window_s",
            field=models.PositiveIntegerField(db_default=300, default=300),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(("judge_window_s__gte", 60), ("judge_window_s__lte", 900)),
                name="policy_judge_window_between_1_and_15_minutes",
            ),
        ),
    ]
