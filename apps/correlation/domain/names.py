"""Propose names of correlation keys by the names of those that would carry them."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

LENGTH = 150
"""Leaves room for the numbers that tell equal names apart, in a column of 200."""
SEPARATORS = "-_.:/ "
SHORTEST = 2
MOST_NUMBERED = 30


def plain(text: str) -> str:
    """Return the text without control characters, which names of the catalogue may not hold."""
    return "".join(each for each in text if unicodedata.category(each) != "Cc")


def name_of(members: Sequence[str], topic: str, number: int) -> str:
    """Return what the names of the members begin with, or the topic's name and the number where
    that says nothing; `members` ascend."""
    # Of sorted names the first and the last differ most.
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(members[0], members[-1], strict=False))
    common = "".join(one for one, _ in pairs)
    # A number that is cut in half belongs to no member.
    common = common.rstrip("0123456789" + SEPARATORS) if common not in members else common
    common = plain(common).strip()[:LENGTH].strip()
    if len(common) >= SHORTEST:
        return common
    topic = plain(topic).strip()[:LENGTH].strip()
    return f"{topic}-burst-{number}"


def proposals(groups: Sequence[Sequence[str]], topic: str) -> list[str]:
    """Return a name for each group, no name twice."""
    taken: set[str] = set()
    last: Counter[str] = Counter()
    names = []
    for number, members in enumerate(groups, start=1):
        base = name = name_of(members, topic, number)
        while name in taken:
            last[base] += 1
            name = f"{base}-{last[base] + 1}"
        taken.add(name)
        names.append(name)
    return names


def alternatives(proposal: str, last_resort: str) -> Iterator[str]:
    """Yield the proposal and what may be said instead where it is taken; those of two proposals
    are never the same."""
    yield proposal
    for number in range(2, MOST_NUMBERED + 1):
        yield f"{proposal}-{number}"
    yield f"{proposal}-{last_resort}"
