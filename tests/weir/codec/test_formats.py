"""The examples of docs/formats.md are read by the codec, and answers have the members it names."""

import json
import re
from dataclasses import replace
from pathlib import Path

from tests.weir.clustering import in_turn
from weir.actions import validate
from weir.clustering.adaptive import Point
from weir.codec import problem_from_dict, result_to_dict
from weir.codec.mapping import curve_to_list, mapping_from_dict, mapping_result_to_dict
from weir.codec.placement import placement_from_dict, placement_result_to_dict
from weir.codec.plan import plan_from_dict, plan_to_dict
from weir.codec.profile import profile_from_dict, profile_to_dict
from weir.codec.transformation import transformation_from_dict, transformation_plan_to_dict
from weir.model.mapping import NOWHERE
from weir.optimizers import certified
from weir.placement import srtm
from weir.placement.explained import explained_of
from weir.placement.profiling import profile
from weir.placement.simulated_brokers import SimulatedBrokers
from weir.planners import slides
from weir.stop import never

TEXT = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")


def example(kind: str) -> dict[str, object]:
    (block,) = re.findall(rf"```json {kind}\n(.*?)```", TEXT, flags=re.DOTALL)
    plain: dict[str, object] = json.loads(block)
    return plain


def members(heading: str) -> set[str]:
    """What the section says that the result holds."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", section[section.rindex("The result holds") :]))


def test_the_allocation_is_solved_and_answers_as_written() -> None:
    problem = problem_from_dict(example("problem"))
    result = result_to_dict(certified.solve(problem, certified.Params(), stop=never, seed=0))
    assert result["status"] in ("optimal", "solved")
    assert members("Allocation") <= result.keys()


def test_the_transformation_is_planned_and_answers_as_written() -> None:
    problem = transformation_from_dict(example("transformation"))
    plan = slides.plan(
        problem, slides.Params(), objective="actions", stop=lambda at: at.round > 10, seed=0
    )
    result = transformation_plan_to_dict(plan)
    assert members("Overlay transformation") - {"action_costs"} == result.keys()
    assert {move["op"] for step in result["steps"] for move in step} == {"shift"}


def test_the_topic_is_placed_and_answers_as_written() -> None:
    problem = placement_from_dict(example("placement"))
    result = placement_result_to_dict(problem, srtm.place(problem, srtm.Params(), seed=0))
    inside = {"rate", "size", "p99_s", "mean_s", "slo_mean_s", "max_rate"}
    assert members("Placement") - inside == result.keys()
    assert result["predicted"]["b1"].keys() == {"p99_s"}
    text = example("placement")
    assert isinstance(text["topic"], dict)
    text["topic"]["slo_mean_s"] = 0.01
    problem = placement_from_dict(text)
    result = placement_result_to_dict(problem, srtm.place(problem, srtm.Params(), seed=0))
    assert result["predicted"]["b1"].keys() == {"p99_s", "mean_s"}


def test_the_flows_are_mapped_and_answer_as_written() -> None:
    problem = mapping_from_dict(example("mapping"))
    flow_map = in_turn.cluster(
        problem, in_turn.Params(), seed=0, stop=lambda: False, report=lambda progress: None
    )
    result = mapping_result_to_dict(problem, flow_map)
    (point,) = curve_to_list(problem, [Point(move_cost=1.0, flow_map=flow_map)])
    inside = {"solved", "time_limit", "max_groups", "pins", "previous"}
    written = result.keys() | result["pin_prices"].keys() | point.keys()
    assert members("Mapping") - inside == written
    former = problem.former
    assert former is not None
    assert (former.stream_of.tolist(), former.group_of[:2].tolist()) == ([0, NOWHERE], [3, NOWHERE])


def test_the_plan_is_read_and_written_as_written() -> None:
    plain = example("plan")
    plan = plan_from_dict(plain)
    assert plan_to_dict(plan) == plain
    rows = re.findall(r"^\| (`.*?) \|", TEXT.split("## Plan\n")[1], flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    kinds = {action.kind for step in plan.steps for action in step.actions}
    assert named == {*plain, "left_out", *kinds}


def test_moves_of_a_map_have_the_members_that_are_written() -> None:
    for action in (a for step in plan_from_dict(example("plan")).steps for a in step.actions):
        row = re.search(rf"^\| `{action.kind}` \| `{{(\w+)}}` \| `{{(\w+)}}` or null", TEXT, re.M)
        assert row is not None
        assert action.before is not None
        assert action.after is not None
        assert [*action.target, *action.before] == [*row.groups()]
        for before, after in ((None, action.after), (action.before, None)):
            validate(replace(action, before=before, after=after))


def test_the_topic_is_profiled_and_answers_as_written() -> None:
    problem, true_per_s = profile_from_dict(example("profile"))
    assert true_per_s == [4000.0, 4000.0]
    brokers = SimulatedBrokers(true_per_s=true_per_s, seconds=60.0, most_seconds=480.0, seed=0)
    seen = profile(problem, brokers.measure)
    result = profile_to_dict(seen, search_rounds=1)
    words = {"kept", "missed", "simulated", "measured"}
    inside = {"seconds", "meets", "measured_now"}
    assert members("Profile") - words - inside == result.keys()
    assert {"seconds", "meets", "brokers"} == result["rounds"][0].keys()
    # The rows are those of an explained placement.
    known = seen.rounds[-1].problem
    explained = explained_of(known, srtm.NAME, {}, seed=0)
    (row, *_) = result["rounds"][-1]["brokers"]
    assert row.keys() - {"measured_now"} == explained["measured"]["brokers"][0].keys()
    assert {"predicted_mean_s", "mean_s", "mean_low_s", "mean_high_s"} <= row.keys()
    assert row["mean_low_s"] <= row["mean_s"] < row["p99_s"]
