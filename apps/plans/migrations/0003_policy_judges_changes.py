"""Let policies say how changes are judged: band, dwell, charge for churn. 0 judges nothing."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("plans", "0002_policies")]

    operations = [
        *(
            migrations.AddField(
                model_name="policy", name=name, field=models.FloatField(default=0.0)
            )
            for name in (
                "enactment_band",
                "enactment_dwell_s",
                "churn_per_consumer",
                "churn_per_rate_change",
            )
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=Q(enactment_band__gte=0, enactment_band__lte=1),
                name="policy_band_between_0_and_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=Q(enactment_dwell_s__gte=0, enactment_dwell_s__lte=604800),
                name="policy_dwell_at_most_a_week",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=Q(churn_per_consumer__gte=0, churn_per_consumer__lt=float("inf"))
                & Q(churn_per_rate_change__gte=0, churn_per_rate_change__lt=float("inf")),
                name="policy_churn_finite_not_negative",
            ),
        ),
    ]
