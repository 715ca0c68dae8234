"""Numbers in sentences, spelt as the visual language asks."""


def percent(share: float, decimals: int = 0, *, signed: bool = False) -> str:
    """A share as `12.5 %`: a space before the sign, `+` only where a change is meant."""
    return f"{share * 100:{'+' if signed else ''}.{decimals}f} %"


def figure(amount: float) -> str:
    """An amount with three digits, whole from a hundred on: `7.2`, `23.4`, `5,340`."""
    return f"{amount:,.0f}" if abs(amount) >= 100 else f"{amount:.3g}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 agent`, `2 agents`, `0 agents`; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
