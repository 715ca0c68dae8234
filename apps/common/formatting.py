"""Format numbers in sentences as the visual language requires."""


def percent(share: float, decimals: int = 0, *, signed: bool = False) -> str:
    """Return a share as `12.5 %`: a space before the sign, `+` only where a change is meant."""
    # A true minus: a hyphen in the middle of a sentence reads as a dash.
    return f"{share * 100:{'+' if signed else ''}.{decimals}f} %".replace("-", "\u2212")


def figure(amount: float) -> str:
    """Return an amount with three digits, whole from a hundred on: `7.2`, `23.4`, `5,340`."""
    return f"{amount:,.0f}" if abs(amount) >= 100 else f"{amount:.3g}"


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 agent`, `2 agents`, `0 agents`; give `many` where the plural is not `one` with an
    s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Return a time in the unit that people say it in: `40 seconds`, `13 minutes`, `5 hours`."""
    for unit, length, below in (
        ("second", 1, 100),
        ("minute", 60, 100 * 60),
        ("hour", 3600, 48 * 3600),
    ):
        if seconds < below:
            return counted(round(seconds / length), unit)
    return counted(round(seconds / 86_400), "day")
