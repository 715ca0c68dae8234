from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("plans", "0003_came_back_by_time")]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="change_ticket",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The change record elsewhere, or its address; empty: none was named.",
                max_length=200,
            ),
        ),
    ]
