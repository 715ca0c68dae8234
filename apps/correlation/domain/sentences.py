"""Say what an analysis came to, what a decision changed, and why something is refused."""

from collections.abc import Iterable

from apps.common.formatting import counted


def listed(parts: Iterable[str]) -> str:
    """Return the parts as one enumeration, without those that are empty."""
    return ", ".join(part for part in parts if part)


def analysis_sentence(*, topic: str, publishers: int, judged: int, groups: int) -> str:
    """Return what an analysis came to, without its name."""
    among = f"{counted(publishers, 'publisher')} of {topic}"
    if judged < publishers:
        among += f", {judged:,} of which sent often enough to be judged"
    if not groups:
        return f"finds no publishers that burst together among {among}."
    what = counted(groups, "group", "groups")
    return f"finds {what} of publishers that burst together among {among}."


def accepted_sentence(
    *, key: str, made: bool, given: int, replaced: int, kept: int, had: int, strangers: int
) -> str:
    """Return what an acceptance changed: `given` publishers got the key, `replaced` of them
    instead of another; `kept` have another, `had` had it before, `strangers` are unknown."""
    begin = f"{counted(given, 'publisher got', 'publishers got')} {key}"
    if made:
        begin += ", which was made for them"
    beside = listed(
        (
            f"{replaced:,} instead of another key" if replaced else "",
            f"{had:,} had it before" if had else "",
            f"{kept:,} kept another key" if kept else "",
            f"{strangers:,} {'is' if strangers == 1 else 'are'} not in the catalogue"
            if strangers
            else "",
        )
    )
    return f"{begin}; {beside}." if beside else f"{begin}."


def undone_sentence(
    *, key: str, restored: int, without_former: int, elsewhere: int, deleted: int, removed: bool
) -> str:
    """Return what taking an acceptance back changed: `restored` publishers have what they had
    before, but `without_former` of them whose key is gone; others were left alone."""
    sentences = [f"{counted(restored, 'publisher lost', 'publishers lost')} {key} again."]
    if without_former:
        who = counted(without_former, "of them has", "of them have")
        sentences.append(f"{who} no key now: the one before was deleted.")
    alone = elsewhere + deleted
    if alone:
        why = listed(
            (
                f"{elsewhere:,} {'carries' if elsewhere == 1 else 'carry'} another key or none by "
                "now"
                if elsewhere
                else "",
                f"{deleted:,} {'was' if deleted == 1 else 'were'} deleted" if deleted else "",
            )
        )
        sentences.append(f"{counted(alone, 'was', 'were')} left alone: {why}.")
    if removed:
        sentences.append(f"{key} was deleted, because nobody carries it.")
    return " ".join(sentences)


def nothing_to_apply(*, topic: str, size: int, known: int, other_keys: int, key: str) -> str:
    """Return why an acceptance would change no publisher: `known` of the members are in the
    catalogue, `other_keys` of these have another key than `key`."""
    if not topic:
        return "The topic was deleted, so none of its publishers is left to get a key."
    if not known:
        return (
            f"None of the {counted(size, 'publisher')} is in the catalogue as a publisher of "
            f"{topic}. Add them there first."
        )
    if not other_keys:
        return f"All {known:,} of them that are in the catalogue carry {key} already."
    return (
        f"Nobody of the {known:,} in the catalogue is without a key: {other_keys:,} carry another "
        "one. Send `replace` to give them this one instead."
    )


def nobody_measured(
    *, topic: str, publishers: int, heard: int, wrong_clock: int, unreported: int, minutes: float
) -> str:
    """Return why the moments of a topic's publishers are not known."""
    if not publishers:
        return (
            f"{topic} has no publisher in the catalogue. Add them, or search a recording of its "
            "messages."
        )
    lately = f"in the last {counted(round(minutes), 'minute')}"
    if not heard:
        others = (
            f" They left out {counted(unreported, 'connection')} of publishers, as their brokers "
            "have more than agents report."
            if unreported
            else ""
        )
        return (
            f"No agent named one of the {counted(publishers, 'publisher')} of {topic} {lately}. "
            f"Agents know the publishers that they let in themselves; of others, search a "
            f"recording.{others}"
        )
    if wrong_clock == heard:
        return (
            f"The {counted(heard, 'publisher')} of {topic} that agents heard {lately} are at "
            "brokers whose clocks are wrong by more than ten minutes. Set these clocks (NTP)."
        )
    clocks = (
        f" {wrong_clock:,} of them are at brokers whose clocks are wrong by more than ten minutes."
        if wrong_clock
        else ""
    )
    return (
        f"The {counted(heard, 'publisher')} of {topic} that agents heard {lately} sent too often "
        f"for their moments to be told apart.{clocks} Search a recording of their messages."
    )
