"""How many steps it takes at least to bring the two brokers of a goal link together.

Let the way between them have g links that never move and r that may. In one step every link that
moves is replaced, seen from the old way, by two: the new link and its pivot, the link that it slid
along (old i-j becomes i-k-j). What then stands twice in a row, there and back, cancels. A pivot is
an old link that stays, so it can cancel only against a link of the way that stays, next to the
link that slid, or against the pivot of the next link that slid. Hence each of the s links that
move on the way does one of four things:

- cancels one link of the way that never moves (the way gets one shorter),
- cancels one link that may move but stays in this step (one shorter),
- cancels against its neighbour's pivot (neither shorter nor longer),
- takes its pivot into the way (one longer; that pivot may be one that can move later).

No stayed link is cancelled twice. So from (g, r) a step leads at best to
(g - a, r - b + x) with a + b + x <= r moved or staying, b <= r - (a + b + x), a <= g. The least
number of steps from (g, r) to a single link follows from that recursion; it is at least
log2(g + r), because a step at most halves the way. With disjoint brokers the slides on a way of
L links share its L + 1 brokers: 3 (a + b) + 2 x <= L + 1.

Taking in a link that never moves, or turning one that may move into one that may not, never
helps: whatever is possible with it is possible without it, by ignoring it.
"""

from __future__ import annotations

from functools import cache

LARGEST_WAY = 64
MOST_MOVABLE = 12
"""Beyond these only the halving of the way counts; the bound stays true and gets weaker."""


@cache
def steps_to_join(fixed: int, movable: int, disjoint: bool) -> int:
    """Steps at least until a way of that many links is a single one."""
    steps = 0
    while not _within(fixed, movable, disjoint, steps):
        steps += 1
    return steps


def _shortest_after(length: int, steps: int, disjoint: bool) -> int:
    for _ in range(steps):
        length -= (length + 1) // 3 if disjoint else length // 2
    return length


@cache
def _within(fixed: int, movable: int, disjoint: bool, steps: int) -> bool:
    """Whether (g, r) may come down to a single link in so many steps."""
    length = fixed + movable
    if length <= 1:
        return True
    if steps == 0 or _shortest_after(length, steps, disjoint) > 1:
        return False
    if length > LARGEST_WAY or movable > MOST_MOVABLE:
        return True
    for taken_in in range(movable + 1):
        for stayed in range((movable - taken_in) // 2 + 1):
            most = movable - taken_in - 2 * stayed
            if disjoint:
                most = min(most, (length + 1 - 2 * taken_in) // 3 - stayed)
                if most < 0:
                    continue
            gone = min(fixed, most)
            if gone + stayed + taken_in == 0:
                continue
            if _within(fixed - gone, movable - stayed + taken_in, disjoint, steps - 1):
                return True
    return False
