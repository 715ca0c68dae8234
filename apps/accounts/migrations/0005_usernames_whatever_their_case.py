"""`demo` and `DEMO` are one name: two people must not pass for each other."""

from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_grants_of_before")]

    operations = [
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                Lower("username"), name="username_once_whatever_its_case"
            ),
        ),
    ]
