"""Accounts in whose names Weir itself acts: nobody signs in as them and they may do nothing."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_people_and_tokens")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="automatic",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="An account of Weir's own; nobody signs in as it.",
            ),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=Q(automatic=False) | Q(is_active=False, roles=[]),
                name="automatic_account_may_nothing",
            ),
        ),
    ]
