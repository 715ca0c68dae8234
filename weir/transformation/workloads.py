"""Transformation problems for tests and benchmarks, drawn from a seed.

The random ones follow section VI.A of the paper: hierarchical trees with a given maximum degree,
balanced or unbalanced, whose goal changes a share of the links at random. The others are shapes
with a known answer or a known difficulty: star and path, caterpillars, and a corridor over which
leaves are carried (one convoy instead of one walk for each).

Brokers are named "1", "2", ... in the order of their making, "1" is the root.

References
----------
P. Salehi, K. Zhang, H.-A. Jacobsen: Incremental Topology Transformation for Publish/Subscribe
Systems Using Integer Programming. ICDCS 2017. Section VI.A.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from weir.model.transformation import Options, Transformation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Pair = tuple[int, int]

MAX_TRIES = 200
"""Draws of a goal before a removed link may come back (only tiny or saturated trees need it)."""


def hierarchical_tree(
    *, brokers: int, max_degree: int, balanced: bool, rng: random.Random, min_degree: int = 2
) -> list[Pair]:
    """Links (parent, child) of a random tree over 0..brokers-1, no degree above `max_degree`.

    Every broker draws its degree uniformly from `min_degree` to `max_degree`. Balanced: brokers
    are filled one level after the other. Unbalanced: a broker that still has room is drawn at
    random for each new one, so that some branches run deep.
    """
    room = [rng.randint(min_degree, max_degree) - 1 for _ in range(brokers)]
    room[0] += 1  # the root has no parent
    links: list[Pair] = []
    if balanced:
        parent = 0
        for child in range(1, brokers):
            while not room[parent]:
                parent += 1
            links.append((parent, child))
            room[parent] -= 1
        return links
    open_brokers = [0]
    for child in range(1, brokers):
        at = rng.randrange(len(open_brokers))
        parent = open_brokers[at]
        links.append((parent, child))
        room[parent] -= 1
        if not room[parent]:
            open_brokers[at] = open_brokers[-1]
            open_brokers.pop()
        open_brokers.append(child)
    return links


def _root(of: list[int], broker: int) -> int:
    while of[broker] != broker:
        of[broker] = of[of[broker]]
        broker = of[broker]
    return broker


def _reconnected(
    brokers: int,
    kept: list[Pair],
    banned: set[Pair],
    max_degree: int | None,
    rng: random.Random,
) -> list[Pair] | None:
    """Random links that join the components of `kept`; None where the degrees run out."""
    of, degree = list(range(brokers)), [0] * brokers
    for i, j in kept:
        of[_root(of, i)] = _root(of, j)
        degree[i] += 1
        degree[j] += 1
    open_brokers = [b for b in range(brokers) if max_degree is None or degree[b] < max_degree]
    room: dict[int, int] = {}
    for b in open_brokers:
        room[_root(of, b)] = room.get(_root(of, b), 0) + (
            brokers if max_degree is None else max_degree - degree[b]
        )
    added: list[Pair] = []
    missing, tries = brokers - 1 - len(kept), 0
    while len(added) < missing:
        tries += 1
        if tries > MAX_TRIES * (missing + brokers) or len(open_brokers) < 2:
            return None
        i, j = rng.choice(open_brokers), rng.choice(open_brokers)
        one, other = _root(of, i), _root(of, j)
        last = len(added) + 1 == missing
        if one == other or (min(i, j), max(i, j)) in banned:
            continue
        if room[one] + room[other] == 2 and not last:
            continue  # the joined component would have no room for a further link
        added.append((i, j))
        of[one] = other
        room[other] += room[one] - 2
        for b in (i, j):
            degree[b] += 1
            if degree[b] == max_degree:
                open_brokers.remove(b)
    return added


def changed_tree(
    *,
    brokers: int,
    links: Sequence[Pair],
    change_ratio: float,
    rng: random.Random,
    max_degree: int | None = None,
) -> list[Pair]:
    """The tree with that share of its links (rounded) removed and its parts joined at random.

    A removed link is not drawn again while another tree can be found, so the ratio is exact.
    """
    links = [(min(i, j), max(i, j)) for i, j in links]
    changes = min(round(change_ratio * len(links)), len(links))
    for attempt in range(MAX_TRIES):
        removed = set(rng.sample(links, changes))
        kept = [link for link in links if link not in removed]
        banned = removed if attempt < MAX_TRIES - 1 else set()
        added = _reconnected(brokers, kept, banned, max_degree, rng)
        if added is not None:
            return kept + added
    return list(links)


def problem_of(
    initial: Iterable[Pair], goal: Iterable[Pair], options: Options | None = None
) -> Transformation:
    """The problem over numbered brokers; broker 0 is named "1"."""

    def named(links: Iterable[Pair]) -> frozenset[tuple[str, str]]:
        return frozenset(
            (min(one, other), max(one, other))
            for one, other in ((str(i + 1), str(j + 1)) for i, j in links)
        )

    before, after = list(initial), list(goal)
    highest = max((max(link) for link in before + after), default=0)
    return Transformation(
        brokers=tuple(str(b + 1) for b in range(highest + 1)),
        initial=named(before),
        goal=named(after),
        options=options or Options(),
    )


def paper_workload(
    *,
    brokers: int,
    seed: int,
    max_degree: int = 6,
    balanced: bool = True,
    change_ratio: float = 0.2,
    keep_degree: bool = False,
    min_degree: int = 2,
    options: Options | None = None,
) -> Transformation:
    """A problem of section VI.A; with `keep_degree` the goal keeps `max_degree` too.

    The paper does not say from which degree on it draws: a higher `min_degree` of the brokers that
    are filled makes trees less deep, and plans shorter.
    """
    rng = random.Random(f"{brokers}/{max_degree}/{balanced}/{change_ratio}/{keep_degree}/{seed}")
    initial = hierarchical_tree(
        brokers=brokers,
        max_degree=max_degree,
        balanced=balanced,
        rng=rng,
        min_degree=min_degree,
    )
    goal = changed_tree(
        brokers=brokers,
        links=initial,
        change_ratio=change_ratio,
        rng=rng,
        max_degree=max_degree if keep_degree else None,
    )
    return problem_of(initial, goal, options)


def random_trees(*, brokers: int, seed: int, options: Options | None = None) -> Transformation:
    """Two unrelated random trees (each broker joins one drawn from those before it)."""
    rng = random.Random(f"trees/{brokers}/{seed}")
    names = list(range(brokers))
    trees = []
    for _ in range(2):
        rng.shuffle(names)
        trees.append([(names[rng.randrange(at)], names[at]) for at in range(1, brokers)])
    return problem_of(trees[0], trees[1], options)


def corridor(*, leaves: int = 6, length: int = 9, options: Options | None = None) -> Transformation:
    """`leaves` leaves at one end of a path of `length` links go to its other end.

    Each on its own walks `length` slides (54 of 6 leaves over 9 links, and action set E holds no
    others); hitched onto one of them they need 2 (leaves - 1) + length (19).
    """
    path = [(at, at + 1) for at in range(length)]
    near = [(0, length + 1 + leaf) for leaf in range(leaves)]
    far = [(length, length + 1 + leaf) for leaf in range(leaves)]
    return problem_of(path + near, path + far, options)


def star(brokers: int) -> list[Pair]:
    """Broker 0 linked to every other."""
    return [(0, b) for b in range(1, brokers)]


def path(brokers: int) -> list[Pair]:
    """Return the edges of a path through all brokers in order of their numbers."""
    return [(b - 1, b) for b in range(1, brokers)]


def caterpillar(*, spine: int, legs: int, turned: bool = False) -> list[Pair]:
    """A row of `spine` brokers with `legs` leaves each; `turned`: the legs in opposite order."""
    links = path(spine)
    for at in range(spine):
        holder = spine - 1 - at if turned else at
        links += [(holder, spine + at * legs + leg) for leg in range(legs)]
    return links


def star_to_path(brokers: int, options: Options | None = None) -> Transformation:
    """The hub is one end of the path."""
    return problem_of(star(brokers), path(brokers), options)


def path_to_star(brokers: int, options: Options | None = None) -> Transformation:
    """One end of the path becomes the hub."""
    return problem_of(path(brokers), star(brokers), options)


def caterpillars(*, spine: int, legs: int, options: Options | None = None) -> Transformation:
    """Every leg goes to the mirrored place of the spine."""
    return problem_of(
        caterpillar(spine=spine, legs=legs),
        caterpillar(spine=spine, legs=legs, turned=True),
        options,
    )


def with_churn(problem: Transformation, *, added: int, removed: int, seed: int) -> Transformation:
    """The problem with brokers that only the goal or only today's tree has.

    A removed broker's goal links go to one of its goal neighbours; an added broker, named
    "n1", "n2", ..., becomes a goal leaf or divides a goal link.
    """
    rng = random.Random(f"churn/{added}/{removed}/{seed}")
    links = sorted(problem.goal)
    staying = sorted({broker for link in links for broker in link})
    for gone in rng.sample(staying, min(removed, len(staying) - 2)):
        around = [i if j == gone else j for i, j in links if gone in (i, j)]
        heir = rng.choice(around)
        links = [link for link in links if gone not in link]
        links += [(heir, other) for other in around if other != heir]
        staying.remove(gone)
    for number in range(1, added + 1):
        name = f"n{number}"
        if links and rng.random() < 0.5:
            i, j = links.pop(rng.randrange(len(links)))
            links += [(i, name), (name, j)]
        else:
            links.append((rng.choice(staying), name))
        staying.append(name)
    goal = frozenset((min(i, j), max(i, j)) for i, j in links)
    return Transformation(
        brokers=(*problem.brokers, *(f"n{number}" for number in range(1, added + 1))),
        initial=problem.initial,
        goal=goal,
        options=problem.options,
    )
