"""Copy the givers of existing passwords and roles from the audit record."""

from typing import Any

from django.db import migrations


def fill(apps: Any, schema_editor: Any) -> None:
    entry_model = apps.get_model("audit", "AuditEntry")
    user_model = apps.get_model("accounts", "User")
    grant_model = apps.get_model("accounts", "AccountGrant")
    people = {user.public_id: user for user in user_model.objects.all()}
    known = {user.pk for user in people.values()}
    givers: dict[tuple[int, str], int | None] = {}
    entries = entry_model.objects.filter(object_kind="user", action__in=["create", "update"])
    for entry in entries.order_by("id").iterator():
        person = people.get(entry.object_id)
        after = entry.after or {}
        if person is None or not isinstance(after, dict) or entry.actor_id == person.pk:
            continue
        giver = entry.actor_id if entry.actor_id in known else None
        if "password" in after:
            givers[person.pk, "password"] = giver
        for role in after.get("roles") or ():
            # Without `before`, entries of old name all roles: the first giver of each counts.
            givers.setdefault((person.pk, role), giver)
    roles = {user.pk: {"password", *user.roles} for user in people.values()}
    grant_model.objects.bulk_create(
        grant_model(person_id=person, what=what, by_id=giver)
        for (person, what), giver in givers.items()
        if what in roles[person]
    )


def clear(apps: Any, schema_editor: Any) -> None:
    apps.get_model("accounts", "AccountGrant").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_account_grants"), ("audit", "0001_record")]
    operations = [migrations.RunPython(fill, clear)]
