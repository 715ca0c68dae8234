"""Describe maps in sentences."""

from collections.abc import Sequence

from apps.common.formatting import counted, figure, percent
from weir.clustering.migration import Move
from weir.model.mapping import NOWHERE


def mapping_sentence(
    *,
    wanted_flows: int,
    moved: int,
    moved_streams: int,
    placed: int,
    cost: float,
    kept_cost: float | None,
    random_cost: float,
) -> str:
    """Return what a map does and what receivers filter then, without its name."""
    filtered = f"unwanted traffic costs receivers {figure(cost)} work/s"
    if kept_cost is None:
        against = f", {percent(cost / random_cost)} of a random map's" if random_cost else ""
        return f"maps {counted(wanted_flows, 'flow')}: {filtered}{against}."
    if moved or moved_streams:
        moves = f"moves {counted(moved, 'flow')} and {counted(moved_streams, 'stream')}"
    else:
        moves = "moves nothing"
    if placed:
        moves += f" and brings {counted(placed, 'flow')} into a first stream"
    return f"{moves}: {filtered}; to keep the map would cost them {figure(kept_cost)} work/s."


def moves_counted(moves: Sequence[Move]) -> str:
    """Return how much moves, such as `114 flows and 3 streams`."""
    flows = sum(move.what == "flow" for move in moves)
    counts = ((flows, "flow"), (len(moves) - flows, "stream"))
    return " and ".join(counted(count, noun) for count, noun in counts if count)


def move_effect(move: Move, first_served: int) -> str:
    """Return what one move does, with its price. `first_served`: subscribers that receive the flow
    by it and did not before."""
    price = f"Saves receivers {figure(move.saves)} work/s."
    if move.saves < 0:
        price = f"Costs receivers {figure(-move.saves)} work/s."
    elif move.saves == 0:
        price = "Costs receivers no more and no less."
    if move.what == "flow" and move.after == NOWHERE:
        return f"Nobody wants it any more. {price}"
    if first_served:
        return f"{counted(first_served, 'subscriber')} can receive it from then on. {price}"
    return price


def plan_reasons(
    name: str,
    moves: Sequence[Move],
    costs: Sequence[float],
    *,
    lacking: int,
    moves_per_step: int,
    pace_s: float,
) -> tuple[str, ...]:
    """Return why the plan is made, and what a reviewer has to know of the way. `costs`: of the map
    before the first step and after each, work/s; `lacking`: flows that somebody wants and nobody
    receives yet."""
    before, after, highest = costs[0], costs[-1], max(costs)
    change = ""
    if before > 0 and after != before:
        change = f", {percent(abs(before - after) / before)} {'less' if after < before else 'more'}"
    sentences = [
        f"Unwanted traffic costs receivers {figure(before)} work/s by the map in force and "
        f"{figure(after)} by the map of {name}{change}, at the rates and weights of now."
    ]
    opened = sum(move.what == "stream" and move.before == NOWHERE for move in moves)
    retired = sum(move.what == "flow" and move.after == NOWHERE for move in moves)
    if opened:
        gets = counted(opened, "stream gets its first group", "streams get their first group")
        sentences.append(f"{gets} before anything else moves.")
    if lacking:
        sentences.append(
            f"{counted(lacking, 'wanted topic reaches', 'wanted topics reach')} nobody yet: "
            f"{'it moves' if lacking == 1 else 'they move'} before those that only change place."
        )
    if retired:
        leave = counted(retired, "topic leaves its stream", "topics leave their streams")
        sentences.append(f"{leave}: nobody wants {'it' if retired == 1 else 'them'} any more.")
    if highest > max(before, after):
        sentences.append(
            f"On the way it costs at most {figure(highest)} work/s, after step "
            f"{costs.index(highest)}."
        )
    steps = len(costs) - 1
    if steps > 1:
        sentences.append(
            f"{counted(steps, 'step')} of at most {counted(moves_per_step, 'move')}, each at least "
            f"{figure(pace_s)} s after the one before: what saves most comes first."
        )
    sentences.append(
        "Weir keeps the map: brokers that send on streams hand their flows over as it changes, and "
        "a step is done once they have. Links carry what they did, but for flows that come onto "
        "their first stream at a broker, or leave their last."
    )
    return tuple(sentences)
