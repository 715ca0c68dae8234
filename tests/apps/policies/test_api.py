"""Policies over REST: made on demand, inherited, changed with a version and an audit entry."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.policies.domain.terms import DEFAULT_TERMS, ApprovalRule, Effect, Terms, Window
from apps.policies.models import Policy, PolicyRule, PolicyWindow
from apps.policies.selectors import terms_for, terms_for_systems
from apps.policies.services import policy_for, policy_update
from apps.systems.models import System
from apps.systems.services import system_delete
from tests.factories import make_system

pytestmark = pytest.mark.django_db

NIGHT = {
    "effect": "allow",
    "cron": "0 22 * * 1-5",
    "duration_s": 28_800,
    "timezone": "Europe/Berlin",
    "note": "nights",
}


def match(version: int) -> dict[str, str]:
    return {"if-match": f'"{version}"'}


def the_policy(api: Any, system: System) -> dict[str, Any]:
    answer = api.get(f"/api/v1/policies?system={system.public_id}")
    assert answer.status_code == 200, answer.content
    (row,) = answer.json()["results"]
    return dict(row)


def change(api: Any, row: dict[str, Any], **values: Any) -> Any:
    return api.patch(
        f"/api/v1/policies/{row['id']}", values, format="json", headers=match(row["version"])
    )


def test_a_system_has_one_policy_that_starts_with_the_default(api):
    system = make_system()
    row = the_policy(api, system)
    assert the_policy(api, system)["id"] == row["id"]
    assert row["system"] == str(system.public_id)
    assert row["inherits"] is True
    assert row["approval_rules"] == [
        {"kind": "*", "min_brokers": 0, "min_share": 0.0, "approvals": 1}
    ]
    assert (row["windows"], row["rate_control"], row["approval_ttl_s"]) == ([], False, 86_400)
    assert row["allowed_commands"] == ["edit"]
    assert terms_for(system) == DEFAULT_TERMS


def test_the_default_is_listed_and_inherited_until_the_first_change(api):
    calm, own = make_system("calm"), make_system("own")
    default = api.get("/api/v1/policies").json()["results"][0]
    assert (default["system"], default["inherits"]) == (None, False)
    assert change(api, the_policy(api, own), pace_s=5).status_code == 200
    two = [{"kind": "*", "approvals": 2}]
    assert change(api, default, approval_rules=two, pace_s=1).status_code == 200
    assert the_policy(api, calm)["approval_rules"][0]["approvals"] == 2
    assert the_policy(api, calm)["pace_s"] == 1
    assert the_policy(api, own)["approval_rules"][0]["approvals"] == 1
    assert terms_for_systems([calm.pk, own.pk])[calm.pk].pace_s == 1
    assert terms_for(own).pace_s == 5


def test_a_system_can_go_back_to_the_default(api):
    system = make_system()
    assert change(api, the_policy(api, system), rate_control=True).json()["inherits"] is False
    back = change(api, the_policy(api, system), inherits=True)
    assert back.status_code == 200, back.content
    assert (back.json()["inherits"], back.json()["rate_control"]) == (True, False)


def test_a_change_keeps_the_rest_and_leaves_an_entry(api):
    system = make_system()
    answer = change(api, the_policy(api, system), windows=[NIGHT], reason="quiet hours")
    assert answer.status_code == 200, answer.content
    assert answer.json()["windows"] == [NIGHT]
    assert answer["ETag"] == '"2"'
    entry = AuditEntry.objects.get(object_kind="policy")
    assert (entry.reason, entry.system_id) == ("quiet hours", system.public_id)
    assert set(entry.after) == {"inherits", "windows"}
    assert entry.before["windows"] == []
    again = change(api, answer.json(), max_parallel_actions=3)
    assert again.json()["windows"] == [NIGHT]
    # The model has not moved: plans do not go stale because a policy changed.
    system.refresh_from_db()
    assert system.model_version == 1


def test_a_full_representation_can_be_sent_back(api):
    system = make_system()
    row = change(api, the_policy(api, system), windows=[NIGHT]).json()
    body = {key: row[key] for key in row if key not in ("inherits", "id")}
    answer = api.patch(
        f"/api/v1/policies/{row['id']}", body, format="json", headers=match(row["version"])
    )
    assert answer.status_code == 200, answer.content
    assert answer.json()["windows"] == [NIGHT]


def test_versions_are_needed_and_checked(api):
    row = the_policy(api, make_system())
    address = f"/api/v1/policies/{row['id']}"
    assert api.patch(address, {"pace_s": 1}, format="json").status_code == 428
    stale = api.patch(address, {"pace_s": 1}, format="json", headers=match(7))
    assert stale.status_code == 412
    assert "you edit version 7, the latest is 1" in stale.json()["detail"]


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"windows": [{**NIGHT, "cron": "61 * * * *"}]}, "windows[0].cron", "Bad minute"),
        ({"windows": [NIGHT, {**NIGHT, "cron": "0 22"}]}, "windows[1].cron", "2 fields"),
        ({"windows": [{**NIGHT, "timezone": "Mars"}]}, "windows[0].timezone", "no time zone"),
        ({"windows": [{**NIGHT, "duration_s": 59}]}, "windows[0].duration_s", "60"),
        ({"windows": [{**NIGHT, "effect": "maybe"}]}, "windows[0].effect", "maybe"),
        ({"windows": [{"effect": "deny"}]}, "windows[0].cron", "required"),
        ({"approval_rules": []}, "approval_rules", "empty"),
        ({"approval_rules": [{"approvals": 0}]}, "approval_rules[0].approvals", "1"),
        ({"approval_rules": [{"approvals": 1, "min_share": 2}]}, "approval_rules[0].min_share", ""),
        ({"auto_approve_max_share": 1.5}, "auto_approve_max_share", "1"),
        ({"auto_approve_max_change": -0.1}, "auto_approve_max_change", "0"),
        ({"enactment_threshold": "nan"}, "enactment_threshold", ""),
        ({"max_parallel_actions": 0}, "max_parallel_actions", "1"),
        ({"approval_ttl_s": 59}, "approval_ttl_s", "60"),
        ({"rate_control_band": 0}, "rate_control_band", "0.001"),
        ({"pace_s": True}, "pace_s", "number"),
        ({"inherits": True, "pace_s": 1}, "inherits", "Either"),
    ],
)
def test_what_is_wrong_is_named(api, values, field, words):
    row = the_policy(api, make_system())
    answer = change(api, row, **values)
    assert answer.status_code == 400, answer.content
    (error,) = [e for e in answer.json()["errors"] if e["field"] == field]
    assert words in error["message"]
    assert field in answer.json()["detail"]


def test_the_default_inherits_from_nobody(api):
    default = api.get("/api/v1/policies").json()["results"][0]
    answer = change(api, default, inherits=True)
    assert answer.status_code == 400
    assert "nothing to inherit from" in answer.json()["detail"]


def test_only_an_administrator_changes_a_policy(api, as_role):
    row = the_policy(api, make_system())
    others = as_role(Role.EDITOR, Role.APPROVER, Role.OPERATOR)
    assert the_policy(others, System.objects.get())["allowed_commands"] == []
    assert change(others, row, pace_s=1).status_code == 403
    assert change(as_role(Role.ADMIN, Role.VIEWER), row, pace_s=1).status_code == 200


def test_an_unknown_system_is_an_error(api):
    assert api.get("/api/v1/policies?system=nonsense").status_code == 400
    unknown = "/api/v1/policies?system=00000000-0000-0000-0000-000000000000"
    assert api.get(unknown).status_code == 404


def test_terms_of_many_systems_take_three_queries(django_assert_num_queries):
    systems = [make_system(f"s{i}") for i in range(5)]
    for system in systems[:3]:
        policy = policy_for(system)
        policy_update(
            policy=policy, actor=None, expected_version=1, values={"pace_s": system.pk / 100}
        )
    with django_assert_num_queries(3):
        terms = terms_for_systems([system.pk for system in systems])
    assert [terms[s.pk].pace_s for s in systems] == [s.pk / 100 for s in systems[:3]] + [0, 0]


def test_terms_survive_the_tables():
    system = make_system()
    terms = Terms(
        approval_rules=(
            ApprovalRule(kind="allocation", min_brokers=2, min_share=0.25, approvals=3),
            ApprovalRule(),
        ),
        windows=(Window(effect=Effect.DENY, cron="0 0 24 12 *", duration_s=86_400, note="x"),),
        auto_approve_max_share=0.5,
        max_parallel_actions=7,
        rate_control=True,
    )
    values = {name: getattr(terms, name) for name in Terms.__dataclass_fields__}
    policy_update(policy=policy_for(system), actor=None, expected_version=1, values=values)
    assert terms_for(system) == terms


def test_deleting_a_system_takes_its_policy_along():
    system = make_system()
    policy_for(system)
    system_delete(system=system, actor=None, expected_version=1)
    assert not Policy.objects.exists()


def broken(**values: Any) -> None:
    with transaction.atomic():
        Policy.objects.filter(system__isnull=False).update(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"auto_approve_max_share": 1.1},
        {"auto_approve_max_change": float("nan")},
        {"max_parallel_actions": 0},
        {"pace_s": float("inf")},
        {"roll_back_pace_s": -1},
        {"enactment_threshold": -0.1},
        {"approval_ttl_s": 1},
        {"rate_control_band": 0},
    ],
)
def test_the_database_refuses_what_the_api_would(values):
    policy_for(make_system())
    with pytest.raises(IntegrityError):
        broken(**values)


def test_the_database_keeps_one_policy_per_system_and_one_default():
    system = make_system()
    for owner in (system, None):
        policy = policy_for(owner)
        with pytest.raises(IntegrityError), transaction.atomic():
            Policy.objects.create(system=owner)
        with pytest.raises(IntegrityError), transaction.atomic():
            PolicyRule.objects.create(policy=policy, position=9, approvals=0)
        with pytest.raises(IntegrityError), transaction.atomic():
            PolicyWindow.objects.create(
                policy=policy, position=9, effect="maybe", cron="* * * * *", duration_s=60
            )
