"""Analyses and suggestions over the API: started, listed, read, decided."""

from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.catalog.models import CorrelationKey, Publisher
from apps.correlation.models import CorrelationAnalysis, Suggestion
from apps.correlation.services import suggestion_accept, suggestion_reject
from apps.runs.models import Run
from tests.factories import make_system, make_topic
from tests.factories.bay import PIER, QUAY, Bay, group, heard, searched, suggested

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/correlation-analyses"
SUGGESTIONS = "/api/v1/correlation-suggestions"


def body_of(bay: Bay, **values: Any) -> dict[str, Any]:
    return {"system": str(bay.system.public_id), "topic": str(bay.topic.public_id), **values}


def listed(api: Any, suggestion: Suggestion, **query: Any) -> list[dict[str, Any]]:
    address = f"{ADDRESS}/{suggestion.analysis.public_id}/suggestions"
    rows: list[dict[str, Any]] = api.get(address, query).json()["results"]
    return rows


def command(api: Any, suggestion: Suggestion, what: str, /, **body: Any) -> Any:
    return api.post(f"{SUGGESTIONS}/{suggestion.public_id}/{what}", body, format="json")


def test_an_analysis_is_asked_for(api: Any, bay: Bay) -> None:
    heard(bay)
    answer = api.post(ADDRESS, body_of(bay, within_s=0.2, note="Before the move"), format="json")
    assert answer.status_code == 202, answer.content
    run = Run.objects.get(public_id=answer.json()["id"])
    assert (run.kind, run.method, run.state) == ("correlation", "coincidences", "queued")
    assert run.parameters == {
        "within_s": 0.2,
        "least_share": 0.5,
        "smallest_group": 2,
        "false_groups": 0.01,
    }
    assert run.events.get().note == "Before the move"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"minutes": 31}, "minutes"),
        ({"minutes": 0.5}, "minutes"),
        ({"within_s": 0.00009}, "within_s"),
        ({"least_share": 0.1}, "least_share"),
        ({"smallest_group": 1}, "smallest_group"),
        ({"source": "guess"}, "source"),
        ({"source": "recording"}, "recording"),
        ({"source": "recording", "recording": "../../x.parquet"}, "recording"),
        ({"recording": "day.parquet"}, "recording"),
        ({"withins": 1}, "withins"),
    ],
)
def test_a_wrong_request_names_the_field(
    api: Any, bay: Bay, values: dict[str, Any], field: str
) -> None:
    heard(bay)
    answer = api.post(ADDRESS, body_of(bay, **values), format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


def test_a_topic_of_another_system_is_refused(api: Any, bay: Bay) -> None:
    topic = make_topic(make_system("elsewhere"))
    answer = api.post(ADDRESS, body_of(bay, topic=str(topic.public_id)), format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "topic")


def test_what_is_not_measured_is_refused_with_the_reason(api: Any, bay: Bay) -> None:
    answer = api.post(ADDRESS, body_of(bay), format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_measured")
    assert "No agent named" in answer.json()["detail"]


def test_analyses_are_listed_filtered_and_searched(api: Any, bay: Bay) -> None:
    searched(bay, group(QUAY), group(PIER))
    rows = api.get(ADDRESS, {"topic": str(bay.topic.public_id), "search": "day"}).json()["results"]
    assert [(row["name"], row["groups"], row["source"]) for row in rows] == [
        ("C-1", 2, "recording")
    ]
    for query in ({"topic": str(bay.other.public_id)}, {"source": "measured"}, {"search": "tide"}):
        assert api.get(ADDRESS, query).json()["count"] == 0


def test_the_detail_says_what_was_searched_and_decided(api: Any, bay: Bay, admin: User) -> None:
    quay, _, third = suggested(bay, QUAY, PIER, ["x-1", "x-2"])
    suggestion_accept(suggestion=quay, actor=admin, name="quay")
    suggestion_reject(suggestion=third, actor=admin)
    row = api.get(f"{ADDRESS}/{quay.analysis.public_id}").json()
    assert (row["open"], row["accepted"], row["rejected"]) == (1, 1, 1)
    assert row["outcome"]["too_few"] == 1
    assert row["outcome"]["search"]["within_s"] == 0.05
    assert "groups" not in row["outcome"]


def test_a_suggestion_says_what_the_catalogue_has_now(api: Any, bay: Bay) -> None:
    (quay, pier, strangers) = suggested(bay, [*QUAY, "stranger"], PIER, ["x-1", "x-2"])
    key = CorrelationKey.objects.create(system=bay.system, name="pier")
    Publisher.objects.filter(name__in=PIER).update(correlation_key=key)
    Publisher.objects.filter(name="quay-2").update(correlation_key=key)
    first, second, third = listed(api, quay)
    assert (first["in_catalogue"], first["without_key"], first["same_as_key"]) == (4, 2, "")
    assert first["keys_now"] == [
        {"name": "old", "publishers": 1},
        {"name": "pier", "publishers": 1},
    ]
    assert (second["same_as_key"], second["without_key"]) == ("pier", 0)
    assert (third["in_catalogue"], third["keys_now"], third["same_as_key"]) == (0, [], "")
    assert first["example"]["rows"][0]["publisher"] == "quay-1"
    assert first["allowed_commands"] == ["accept", "reject"]
    assert (pier.size, strangers.size) == (3, 2)


def test_proposed_names_are_free(api: Any, bay: Bay) -> None:
    quay, *_ = suggested(bay, QUAY[:2], QUAY[2:], PIER)
    assert [row["name"] for row in listed(api, quay)] == ["quay", "quay-2", "pier"]
    # Somebody else makes a key of that name; "quay-2" is what another suggestion proposes.
    CorrelationKey.objects.create(system=bay.system, name="quay")
    names = [row["name"] for row in listed(api, quay)]
    assert names == ["quay-3", "quay-2", "pier"]
    for name, suggestion in zip(names, quay.analysis.suggestions.all(), strict=True):
        assert command(api, suggestion, "accept", name=name).status_code == 200
    assert [row["name"] for row in listed(api, quay)] == names


def test_a_suggestion_that_was_rejected_before_says_so(api: Any, bay: Bay, admin: User) -> None:
    names = [f"n-{n}" for n in range(10)]
    (first,) = suggested(bay, names)
    suggestion_reject(suggestion=first, actor=admin, note="One clock")
    again, other = suggested(bay, [*names[:8], "m-1"], [*names[:7], "m-2", "m-3"])
    row, far = listed(api, again)
    assert row["rejected_before"] is not None
    assert (row["rejected_before"]["analysis"], row["rejected_before"]["note"]) == (
        "C-1",
        "One clock",
    )
    assert row["rejected_before"]["by"] == admin.display_name
    assert far["rejected_before"] is None
    assert other.number == 2
    command(api, first, "undo")
    assert listed(api, again)[0]["rejected_before"] is None


def test_more_suggestions_take_no_more_queries(
    api: Any, bay: Bay, admin: User, django_assert_max_num_queries: Any
) -> None:
    few = suggested(bay, QUAY, PIER)
    many = suggested(bay, *([f"g{n}-1", f"g{n}-2", "quay-1"] for n in range(40)))
    for each in many[:20]:
        suggestion_reject(suggestion=each, actor=admin)
    suggested(bay, *([f"g{n}-1", f"g{n}-2", "quay-1"] for n in range(40)))
    last = CorrelationAnalysis.objects.latest("id").suggestions.get(number=1)
    with django_assert_max_num_queries(12) as captured:
        listed(api, few[0])
    with django_assert_max_num_queries(len(captured) + 1):
        rows = listed(api, last)
    assert (len(rows), sum(row["rejected_before"] is not None for row in rows)) == (40, 20)


def test_suggestions_are_filtered_by_state(api: Any, bay: Bay, admin: User) -> None:
    quay, pier = suggested(bay, QUAY, PIER)
    suggestion_reject(suggestion=quay, actor=admin)
    assert [row["id"] for row in listed(api, quay, state="open")] == [str(pier.public_id)]
    rejected = listed(api, quay, state="rejected")
    assert (rejected[0]["decided_by"], rejected[0]["allowed_commands"]) == (
        admin.display_name,
        ["undo"],
    )


def test_a_suggestion_is_decided_over_the_api(api: Any, bay: Bay) -> None:
    (quay,) = suggested(bay, QUAY)
    answer = command(api, quay, "accept", name="  quay 'A'  ", replace=True, note="Seen")
    assert answer.status_code == 200, answer.content
    row = answer.json()
    assert (row["state"], row["key_name"], row["name"]) == ("accepted", "quay 'A'", "quay 'A'")
    assert row["key_id"] == str(CorrelationKey.objects.get(name="quay 'A'").public_id)
    assert (row["note"], row["same_as_key"]) == ("Seen", "quay 'A'")
    assert row["effect"].startswith("4 publishers got quay 'A'")
    assert bay.keys() == dict.fromkeys(QUAY, "quay 'A'")
    answer = command(api, quay, "accept", name="other")
    assert (answer.status_code, answer.json()["code"]) == (409, "decided_already")
    assert command(api, quay, "undo").json()["state"] == "open"
    assert command(api, quay, "reject", note="No").json()["state"] == "rejected"
    assert bay.keys() == {"quay-1": "old"}


def test_a_decision_that_is_sent_again_is_answered_as_before(api: Any, bay: Bay) -> None:
    (quay,) = suggested(bay, QUAY)
    bodies = {"accept": {"name": "quay"}, "undo": {}, "reject": {"note": "No"}}
    for what, body in bodies.items():
        address = f"{SUGGESTIONS}/{quay.public_id}/{what}"
        first, again = (
            api.post(address, body, format="json", headers={"Idempotency-Key": what})
            for _ in range(2)
        )
        assert (first.status_code, again.status_code) == (200, 200), again.content
        assert again.json() == first.json()
        assert again.headers["Idempotency-Replayed"] == "true"


def test_a_decision_may_name_the_version_that_was_seen(api: Any, bay: Bay) -> None:
    quay, pier = suggested(bay, QUAY, [*PIER, "quay-2"])
    first, second = listed(api, quay)
    assert first["model_version"] == second["model_version"] == bay.version()
    seen = first["model_version"]
    assert command(api, pier, "accept", name="pier", model_version=seen).status_code == 200
    refused = command(api, quay, "accept", name="quay", model_version=seen)
    assert (refused.status_code, refused.json()["code"]) == (409, "changed_meanwhile")
    now = listed(api, quay)[0]["model_version"]
    assert command(api, quay, "accept", name="quay", model_version=now).status_code == 200


def test_an_accepted_suggestion_says_what_undoing_it_changes(api: Any, bay: Bay) -> None:
    (quay,) = suggested(bay, QUAY)
    assert listed(api, quay)[0]["undo"] is None
    command(api, quay, "accept", name="quay", replace=True)
    undo = listed(api, quay)[0]["undo"]
    assert undo == {"publishers": 4, "get_another": 1, "left_alone": 0, "key_goes": True}
    Publisher.objects.filter(name="quay-2").update(correlation_key=bay.old)
    Publisher.objects.filter(name="quay-3").delete()
    key = CorrelationKey.objects.get(name="quay")
    Publisher.objects.filter(name="pier-1").update(correlation_key=key)
    undo = listed(api, quay)[0]["undo"]
    assert undo == {"publishers": 2, "get_another": 1, "left_alone": 2, "key_goes": False}


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 201, None])
def test_a_name_that_no_key_can_have_is_refused(api: Any, bay: Bay, name: Any) -> None:
    (quay,) = suggested(bay, QUAY)
    answer = command(api, quay, "accept", name=name)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "name")
    assert bay.keys() == {"quay-1": "old"}


def test_who_edits_no_model_decides_nothing(as_role: Any, bay: Bay) -> None:
    (quay,) = suggested(bay, QUAY)
    reader = as_role(Role.OPERATOR, Role.APPROVER, Role.ADMIN)
    for name in ("accept", "reject", "undo"):
        assert command(reader, quay, name, name="quay").status_code == 403
    assert listed(reader, quay)[0]["allowed_commands"] == []


def test_members_are_paged_and_searched(api: Any, bay: Bay) -> None:
    (quay,) = suggested(bay, [*QUAY, "Zoo-1", "stranger"])
    address = f"{SUGGESTIONS}/{quay.public_id}/members"
    first = api.get(address, {"page_size": 4}).json()
    assert first["count"] == 6
    assert [row["publisher"] for row in first["results"]] == ["Zoo-1", *QUAY[:3]]
    assert first["results"][0]["id"] is None
    assert first["results"][1] == {
        "publisher": "quay-1",
        "id": str(bay.publisher("quay-1").public_id),
        "correlation_key": "old",
    }
    second = api.get(first["next"]).json()
    assert [row["publisher"] for row in second["results"]] == ["quay-4", "stranger"]
    assert second["next"] is None
    assert api.get(second["previous"]).json()["results"] == first["results"]
    matching = api.get(address, {"search": "zoo"}).json()
    assert (matching["count"], matching["results"][0]["publisher"]) == (1, "Zoo-1")
    assert api.get(address, {"cursor": "nonsense"}).status_code == 404


def test_recordings_are_listed(api: Any, recordings: Any) -> None:
    (row,) = api.get("/api/v1/recordings").json()["results"]
    assert (row["name"], row["bytes"]) == ("day.parquet", 4)


def test_the_page_of_a_topic_says_how_much_is_measured(api: Any, bay: Bay) -> None:
    address = f"/api/v1/topics/{bay.topic.public_id}/publisher-times"
    assert api.get(address).json() == {
        "publishers": 7,
        "heard": 0,
        "timed": 0,
        "since": None,
        "until": None,
        "messages": 0,
        "wrong_clock": 0,
        "unreported": 0,
        "shortened": False,
    }
    heard(bay, ["quay-1", "quay-2", "stranger"], **{"quay-3": 2})
    row = api.get(address).json()
    assert (row["publishers"], row["heard"], row["timed"]) == (7, 3, 2)
    assert row["since"] < row["until"]
    assert row["messages"] == 20 + 20 + 20 * 2
