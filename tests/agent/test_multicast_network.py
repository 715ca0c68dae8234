"""Multicast over a switch: what reaches each subscriber's port is what its groups carry."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent import multicast_network as network

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the hosts of the network report."""
    for program in ("unshare", "ip"):
        if shutil.which(program) is None:
            pytest.skip(f"this machine has no {program}, which network namespaces are made with")
    may = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    if may.returncode:
        pytest.skip(f"the kernel refuses network namespaces: {may.stderr.strip()}")
    directory = tmp_path_factory.mktemp("network")
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.agent.multicast_network", str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == network.REFUSED:
        pytest.skip(f"the kernel refuses a bridge: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("phase", network.PHASES)
def test_subscribers_get_all_in_order_through_hand_overs(
    report: dict[str, Any], phase: str
) -> None:
    sent, received = report[phase]["sent"], report[phase]["received"]
    assert (sent["unready"], sent["problems"]) == (0, [])
    for name, flows in network.WANTED.items():
        assert received[name]["lost"] == 0
        is_deaf = (phase, name) == ("deaf", "one")
        assert received[name]["ways"] == ["NatsGroup" if is_deaf else "GroupReader"]
        assert set(received[name]["numbers"]) == set(flows)
        for flow in flows:
            numbers = received[name]["numbers"][flow]
            assert numbers == sent["numbers"][flow][numbers[0] :]
            assert len(numbers) > network.MOVES


def test_the_switch_brings_each_subscriber_its_own_groups_alone(report: dict[str, Any]) -> None:
    counts = report["snooping"]["counts"]
    for name, groups in network.GROUPS.items():
        assert {int(group) for group in counts[name]} == set(groups)
        numbers = report["snooping"]["received"][name]["numbers"]
        # Messages, each once, and signals beside them.
        assert sum(counts[name].values()) > sum(map(len, numbers.values()))


def test_a_switch_that_does_not_look_at_groups_brings_everything_to_everybody(
    report: dict[str, Any],
) -> None:
    """What is measured would show it if the network did not filter."""
    counts = report["flooding"]["counts"]
    every = {str(group) for groups in network.GROUPS.values() for group in groups}
    assert set(counts["one"]) == set(counts["two"]) == every


def test_a_subscriber_whose_network_drops_multicast_hears_by_nats(report: dict[str, Any]) -> None:
    """That it receives everything is shown above."""
    counts = report["deaf"]["counts"]
    assert counts["one"] == {}
    assert set(counts["two"]) == {"1", "2", "3", "4"}
