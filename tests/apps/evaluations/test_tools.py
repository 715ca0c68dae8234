"""One-off plans over REST; edits by hand leave the tree alone that agents route by."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from apps.executions.selectors import edges_in_force
from apps.runs.models import Run
from apps.telemetry.models import Agent
from apps.telemetry.services import agent_revoke
from apps.topology.models import Overlay
from tests.factories.fleet import make_harbour
from tests.factories.plans import agents_come

pytestmark = pytest.mark.django_db
PAPER = {
    "brokers": ["1", "2", "3", "4"],
    "initial": [["1", "2"], ["1", "3"], ["2", "4"]],
    "goal": [["1", "2"], ["1", "3"], ["3", "4"]],
}


def transform(api, **members):
    body = {**PAPER, **members}
    return api.post("/api/v1/overlay-transformations", body, format="json")


def test_a_problem_in_the_request_gets_its_plan_in_the_answer(api):
    answer = transform(api, options={"max_degree": 3}, objective="steps")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body.keys() == {
        *("status", "steps", "actions", "lower_bound_actions", "lower_bound_steps"),
        *("planner", "runtime_s"),
    }
    assert (body["status"], body["actions"], body["planner"]) == ("optimal", 2, "slides")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("members", "status", "field"),
    [
        ({"goal": [["1", "2"], ["2", "3"], ["1", "3"], ["3", "4"]]}, 422, "goal[2]"),
        ({"goal": [["1", "2"], ["3", "4"]]}, 422, "goal"),
        ({"goal": [["1", "2"], ["1", "3"], ["4", "4"]]}, 422, "goal[2]"),
        ({"brokers": ["1", "2", "3", "4", "4"]}, 422, "brokers[4]"),
        ({"options": {"frozen": ["4"]}}, 422, "options.frozen[0]"),
        ({"options": {"max_degree": 1}}, 422, "options.max_degree"),
        ({"method": "magic"}, 400, "method"),
        ({"parameters": {"nonsense": 1}}, 400, "parameters"),
        ({"time_limit_s": 60}, 400, "time_limit_s"),
        ({"objective": "beauty"}, 400, "objective"),
    ],
)
def test_what_does_not_fit_names_its_field(api, members, status, field):
    answer = transform(api, **members)
    assert answer.status_code == status, answer.json()
    assert field in [error["field"] for error in answer.json()["errors"]]


def test_a_problem_too_large_to_wait_for_is_sent_to_the_command(api):
    brokers = [str(number) for number in range(2001)]
    path = [[a, b] for a, b in pairwise(brokers)]
    answer = transform(api, brokers=brokers, initial=path, goal=path)
    assert (answer.status_code, answer.json()["code"]) == (409, "too_large_to_wait")
    assert "plan_topology" in answer.json()["detail"]


@pytest.fixture
def harbour():
    return make_harbour()


def live(harbour) -> None:
    """Every broker has an agent, whose lease no slow test outlives."""
    agents_come(harbour)
    Agent.objects.update(lease_until=timezone.now() + timedelta(hours=1))


def edit(api, overlay, **members):
    overlay.refresh_from_db()
    return api.patch(
        f"/api/v1/overlays/{overlay.public_id}",
        members,
        format="json",
        headers={"If-Match": f'"{overlay.version}"'},
    )


def edges(harbour, *pairs):
    at = {name: str(broker.public_id) for name, broker in harbour.brokers.items()}
    return [{"a": at[pair[0]], "b": at[pair[1]]} for pair in pairs]


def test_tree_that_live_agents_route_by_is_not_edited_by_hand(api, harbour):
    live(harbour)
    before = edges_in_force(harbour.system)
    for members in (
        {"edges": edges(harbour, "ab", "bc", "bd")},
        {"in_force": False},
        {"purpose": "goal"},
    ):
        answer = edit(api, harbour.overlay, **members)
        assert (answer.status_code, answer.json()["code"]) == (409, "agents_are_enrolled")
        assert "carry out its plan" in answer.json()["detail"]
    harbour.overlay.refresh_from_db()
    gone = api.delete(
        f"/api/v1/overlays/{harbour.overlay.public_id}",
        headers={"If-Match": f'"{harbour.overlay.version}"'},
    )
    assert (gone.status_code, gone.json()["code"]) == (409, "agents_are_enrolled")
    assert edges_in_force(harbour.system) == before


def test_its_note_may_change_and_the_same_links_are_no_edit(api, harbour):
    live(harbour)
    same = edges(harbour, "ba", "bc", "dc")
    answer = edit(api, harbour.overlay, note="spring", edges=same, in_force=True)
    assert answer.status_code == 200, answer.content


def test_a_silent_agent_routes_by_the_tree_too(api, harbour):
    agents_come(harbour)
    Agent.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    answer = edit(api, harbour.overlay, edges=edges(harbour, "ab", "bc", "bd"))
    assert (answer.status_code, answer.json()["code"]) == (409, "agents_are_enrolled")


def test_without_an_enrolled_agent_the_tree_may_be_edited(api, harbour):
    for agent in agents_come(harbour).values():
        agent_revoke(agent=agent, actor=None)
    answer = edit(api, harbour.overlay, edges=edges(harbour, "ab", "bc", "bd"))
    assert answer.status_code == 200, answer.content
    assert edges_in_force(harbour.system) == {("a", "b"), ("b", "c"), ("b", "d")}


def test_no_other_tree_is_put_in_force_beside_enrolled_agents(api, harbour):
    body = {
        "system": str(harbour.system.public_id),
        "name": "second",
        "in_force": True,
        "edges": edges(harbour, "ab"),
    }
    Overlay.objects.filter(pk=harbour.overlay.pk).update(in_force=False)
    agents_come(harbour)
    answer = api.post("/api/v1/overlays", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "agents_are_enrolled")
    assert edit(api, harbour.overlay, in_force=True).status_code == 409
    assert edges_in_force(harbour.system) == frozenset()
