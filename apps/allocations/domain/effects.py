"""Describe the expected effect of each action of a plan in a sentence with numbers and units."""

from __future__ import annotations

from collections import defaultdict

from apps.allocations.domain.proposal import RATE, Proposal
from apps.allocations.domain.sentences import consumers, number
from apps.common.formatting import counted
from weir.model.plan import Action

LEAST_SHARE = 5e-4
"""Changes of a load below this share of capacity are not mentioned."""


class Effects:
    """Describe the expected effect of each action; prepared once per proposal."""

    def __init__(self, proposal: Proposal) -> None:
        self._proposal = proposal
        self._capacity = {
            f"{resource} of {node.id}": capacity
            for node in proposal.problem.nodes
            for resource, capacity in node.capacity.items()
        } | {f"link {link.id}": link.capacity for link in proposal.problem.links}
        self._wanted = {row.id: row.population_max for row in proposal.problem.classes}
        self._work: dict[str, dict[str, float]] = {}
        self._consumer_work: dict[str, dict[str, float]] = {}
        self._admitted: dict[str, int] = defaultdict(int)
        for flow in proposal.problem.flows:
            work = {
                f"{resource} of {node}": cost
                for node, costs in flow.node_costs.items()
                for resource, cost in costs.items()
            }
            self._work[flow.id] = work | {f"link {x}": c for x, c in flow.link_costs.items()}
        for row in proposal.problem.classes:
            count = proposal.populations.get(row.id, 0)
            self._admitted[row.flow] += count
            own = {f"{resource} of {row.node}": cost for resource, cost in row.costs.items()}
            self._consumer_work[row.id] = own
            for place, cost in own.items():
                work = self._work[row.flow]
                work[place] = work.get(place, 0.0) + cost * count

    def of(self, action: Action) -> str:
        """Return the effect of an action as a sentence with numbers and units."""
        return self._of_rate(action) if action.kind == RATE else self._of_limit(action)

    def _of_rate(self, action: Action) -> str:
        flow = action.target["flow"]
        if action.after is None:
            return f"{flow} no longer enters at {action.target['broker']}."
        after = float(action.after["rate_per_s"])
        who = consumers(self._admitted[flow])
        gets = "gets" if self._admitted[flow] == 1 else "get"
        if action.before is None:
            offered = self._proposal.offered.get(flow)
            now = f", {number(offered)} msg/s are offered now" if offered is not None else ""
            return f"{who} of {flow} {gets} up to {number(after)} msg/s{now}."
        before = float(action.before["rate_per_s"])
        load = self._load(self._work.get(flow, {}), after - before)
        return f"{who} of {flow} {gets} {number(after)} instead of {number(before)} msg/s{load}."

    def _of_limit(self, action: Action) -> str:
        name = action.target["class"]
        if action.after is None:
            return f"{name} is no longer at {action.target['broker']}."
        rate = self._proposal.rates.get(action.target["flow"], 0.0)
        after = int(action.after["limit"])
        wanted = self._wanted.get(name, after)
        if action.before is None and after == 0:
            return f"None of the {consumers(wanted)} that want in is admitted."
        if action.before is None:
            gets = counted(wanted, "consumer that wants in gets", "consumers that want in get")
            return f"{after:,} of {gets} {number(rate)} msg/s each."
        more = after - int(action.before["limit"])
        load = self._load(self._consumer_work.get(name, {}), more * rate)
        word = "more" if more > 0 else "fewer"
        which = "consumer" if abs(more) == 1 else "consumers"
        return f"{abs(more):,} {word} {which} get {number(rate)} msg/s each{load}."

    def _load(self, work: dict[str, float], messages: float) -> str:
        """Return a phrase about the resource whose load changes most, in points of its capacity."""
        shares = {
            place: cost * messages / self._capacity[place]
            for place, cost in work.items()
            if self._capacity.get(place)
        }
        if not shares:
            return ""
        place = max(sorted(shares), key=lambda name: abs(shares[name]))
        if abs(shares[place]) < LEAST_SHARE:
            return ""
        return f"; {place} {shares[place] * 100:+.1f} points"
