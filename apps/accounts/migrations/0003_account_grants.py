"""Store who gave an account its password and roles: nobody approves plans of an account that made
theirs."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

KNOWN = ["password", "viewer", "editor", "approver", "operator", "admin"]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_automatic_accounts")]

    operations = [
        migrations.CreateModel(
            name="AccountGrant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "what",
                    models.CharField(help_text="`password`, or the name of a role.", max_length=16),
                ),
                ("at", models.DateTimeField(auto_now=True)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["person", "what"], name="one_giver_of_each_grant"
                    ),
                    models.CheckConstraint(condition=Q(what__in=KNOWN), name="grant_known"),
                    models.CheckConstraint(
                        condition=Q(by=None) | ~Q(by=F("person")),
                        name="nobody_grants_to_themselves",
                    ),
                ],
            },
        ),
    ]
