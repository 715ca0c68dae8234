"""Leave policies to their own app; their tables stay (policies 0001 takes them over)."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("plans", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name="PolicyWindow"),
                migrations.DeleteModel(name="PolicyRule"),
                migrations.DeleteModel(name="Policy"),
            ]
        ),
    ]
