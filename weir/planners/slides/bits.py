"""Sets of goal links as bits, and a seeded source of chance, inside compiled kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

M1 = np.uint64(0x5555555555555555)
M2 = np.uint64(0x3333333333333333)
M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
H01 = np.uint64(0x0101010101010101)
ONE, TWO, FOUR, LAST = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
S12, S25, S27, S11 = np.uint64(12), np.uint64(25), np.uint64(27), np.uint64(11)
ODD = np.uint64(0x2545F4914F6CDD1D)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1, MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S31 = np.uint64(30), np.uint64(31)
UNIT = 1.0 / 9007199254740992.0  # 2 ** -53


@compiled
def count(x: np.uint64) -> int:
    """Return the number of bits that are set."""
    x = x - ((x >> ONE) & M1)
    x = (x & M2) + ((x >> TWO) & M2)
    x = (x + (x >> FOUR)) & M4
    return int(np.int64((x * H01) >> LAST))


@compiled
def scrambled(x: np.uint64) -> np.uint64:
    """Return a number that looks random, the same for the same `x` (splitmix64)."""
    x = (x + ONE) * GOLDEN
    x = (x ^ (x >> S30)) * MIX1
    x = (x ^ (x >> S27)) * MIX2
    return x ^ (x >> S31)


@compiled
def chance(state: NDArray[np.uint64]) -> float:
    """Return the next number in [0, 1) of the generator kept in `state[0]` (xorshift64*)."""
    x = state[0]
    x ^= x >> S12
    x ^= x << S25
    x ^= x >> S27
    state[0] = x
    return np.float64((x * ODD) >> S11) * UNIT
