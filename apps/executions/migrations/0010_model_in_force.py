"""Put the present model in force: agents notice nothing.

A limit was read for its class whatever flow it named; from now on it is that of one flow. So each
names the flow of its class, and of several for one class the last, which was read, stays.
"""

import json

from django.db import migrations

FLOW, CLASS = "carry_flow", "serve_class"


def _key(target):
    return json.dumps(target, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def adopt(apps, schema_editor):
    """Write what documents were made of until now as settings."""
    Setting = apps.get_model("executions", "Setting")
    Topic = apps.get_model("catalog", "Topic")
    ConsumerClass = apps.get_model("catalog", "ConsumerClass")
    System = apps.get_model("systems", "System")
    for system in System.objects.order_by("id").values_list("id", flat=True):
        settings = [
            (FLOW, {"flow": name}, {"delivery": delivery, "broker": source or ""})
            for name, delivery, source in Topic.objects.filter(system=system).values_list(
                "name", "delivery", "source__name"
            )
        ]
        settings += [
            (CLASS, {"class": name, "broker": broker}, {"flow": flow})
            for name, flow, broker in ConsumerClass.objects.filter(system=system).values_list(
                "name", "topic__name", "broker__name"
            )
        ]
        _name_flows_of_limits(
            Setting,
            system,
            {
                (target["broker"], target["class"]): value["flow"]
                for kind, target, value in settings
                if kind == CLASS
            },
        )
        Setting.objects.bulk_create(
            Setting(
                system_id=system,
                kind=kind,
                target=target,
                target_key=_key(target),
                in_force=value,
                desired=value,
            )
            for kind, target, value in settings
        )


def _name_flows_of_limits(Setting, system, flows):
    last = {}
    for row in Setting.objects.filter(system=system, kind="set_population").order_by("id"):
        former = last.pop((row.target["broker"], row.target["class"]), None)
        if former is not None:
            former.delete()
        last[row.target["broker"], row.target["class"]] = row
    for key, row in last.items():
        flow = flows.get(key, row.target["flow"])
        if flow != row.target["flow"]:
            row.target = {**row.target, "flow": flow}
            row.target_key = _key(row.target)
            row.save(update_fields=["target", "target_key"])


def forget(apps, schema_editor):
    """Make documents of the model again."""
    apps.get_model("executions", "Setting").objects.filter(kind__in=[FLOW, CLASS]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0009_settings_are_their_own"),
    ]
    operations = [migrations.RunPython(adopt, forget)]
