"""The textbook's alternating series for unfinished work, in as many digits as it takes.

Independent of the product: inverse transform of (1 - rho) s / (s - lambda + lambda G(e^-s)), with
sizes of batches as the generating function G (Erlang 1909 for batches of one).
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import factorial, floor

LEAST_DIGITS = 400


def exact_tail(x: float, utilisation: float, batches: dict[int, float]) -> float:
    """Return P(U > x)."""
    with localcontext() as context:
        # Terms grow like a power of x and cancel: by that many digits more.
        context.prec = LEAST_DIGITS + floor(x / 2)
        whole = sum(Decimal(share) for share in batches.values())
        shares = {size: Decimal(share) / whole for size, share in batches.items()}
        mean = sum(size * share for size, share in shares.items())
        rho, at = Decimal(utilisation), Decimal(x)
        rate = rho / mean
        whole_growth, shrink = (rate * at).exp(), (-rate).exp()
        total = Decimal(0)
        power = {0: Decimal(1)}  # the j-fold sum of sizes
        for j in range(floor(x) + 1):
            for size, share in power.items():
                if size <= at:
                    left = at - size
                    term = (left**j if j else Decimal(1)) * whole_growth * shrink**size
                    total += (-rate) ** j * share * term / factorial(j)
            longer: dict[int, Decimal] = {}
            for size, share in power.items():
                for more, with_share in shares.items():
                    if size + more <= x:
                        longer[size + more] = (
                            longer.get(size + more, Decimal(0)) + share * with_share
                        )
            power = longer
        return float(1 - (1 - rho) * total)
