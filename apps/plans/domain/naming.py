"""List names in sentences: a few, then how many others."""

NAMED = 3
"""The number of names that a sentence lists before it counts the others."""


def listed(names: tuple[str, ...]) -> str:
    """Return a few names, then how many others."""
    if len(names) == 1:
        return names[0]
    if len(names) <= NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
