"""What becomes of the ways of flows that go only where they are wanted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.weir.optimizers.test_wanted import PRUNE
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem
from weir.model.forwarding import without_nodes
from weir.model.problem import Hop
from weir.scenarios import check, study_from_dict

ROUTE = {"b": Hop(upstream="a", link="ab"), "c": Hop(upstream="b"), "d": Hop(upstream="c")}


def test_what_lay_behind_a_removed_node_hangs_on_what_lay_before_it() -> None:
    assert without_nodes(ROUTE, {"c"}) == {
        "b": Hop(upstream="a", link="ab"),
        "d": Hop(upstream="b"),
    }


def test_what_lay_behind_a_removed_source_is_fed_by_the_source_again() -> None:
    assert without_nodes(ROUTE, {"a", "b"}) == {"d": Hop(upstream="c")}


def test_nodes_are_not_pooled_where_flows_go_only_where_they_are_wanted() -> None:
    edit: dict[str, Any] = {"kind": "budget", "resource": "cpu", "nodes": "all", "scale": 1}
    plain = {
        "kind": "sweep",
        "methods": [{"method": "greedy"}],
        "scenarios": [{"label": "pool", "edits": [edit]}],
    }
    with pytest.raises(InvalidProblem, match="cannot be pooled"):
        check(study_from_dict(plain), problem_from_dict(PRUNE))
