"""Describe maps in sentences."""

from apps.common.formatting import counted, figure, percent


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
