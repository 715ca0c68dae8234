"""Resource models on simulated measurements: the paper's observations, and what intervals cover.

    python -m benchmarks.resource_models

Loads are made with constants as in Bhola 2006 and normal noise, so the truth is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weir.fitting import Case, Kind, Term, fit_case

BEST_EFFORT = (0.00146092, 0.00103146)
CAMPAIGNS = 100
NOISE = 0.5
HIGH_ONLY = ([200, 195, 190, 185, 180, 200, 190, 180], [1, 2, 3, 1, 2, 3, 2, 1])
LOW_ONLY = ([10, 12, 14, 16, 18, 20, 10, 20], [1, 50, 100, 200, 300, 400, 400, 10])
BOTH = ([200, 200, 200, 150, 100, 50, 10, 10], [1, 100, 300, 200, 400, 300, 400, 200])


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One coefficient over all campaigns: fitted over true, as often as it was taken for fixed."""

    ratios: np.ndarray
    fixed: int
    free: np.ndarray
    """Ordinary least squares, without the bound, over true."""


def paper_campaigns(
    rates: list[int], people: list[int], *, column: int, noise: float = NOISE
) -> Found:
    """Eight tests each of one flow and class; `column` 0 is A, 1 is B. Noise in percent points."""
    r, n = np.array(rates, dtype=np.float64), np.array(people, dtype=np.float64)
    design = np.column_stack([r, r * n])
    terms = (
        Term(kind=Kind.FLOW, name="f", flow="f", rate_min_per_s=10, rate_max_per_s=200),
        Term(kind=Kind.CLASS, name="c", flow="f", population_max=400),
    )
    ratios, free, fixed = [], [], 0
    for seed in range(CAMPAIGNS):
        loads = design @ BEST_EFFORT + np.random.default_rng(seed).normal(0.0, noise, len(r))
        case = Case(
            broker="S0", resource="cpu", capacity=100, terms=terms, loads=loads, design=design
        )
        found = fit_case(case).coefficients[column]
        ratios.append(found.value / BEST_EFFORT[column])
        free.append(np.linalg.lstsq(design, loads, rcond=None)[0][column] / BEST_EFFORT[column])
        fixed += found.identified
    return Found(ratios=np.array(ratios), free=np.array(free), fixed=fixed)


def coverage(*, together: float, noise: float, flows: int = 6, points: int = 40) -> np.ndarray:
    """Share of intervals that hold the truth, coefficients that were taken for fixed, and those
    of them that are off by more than half. `together`: how far all rates move as one, 0 to 1."""
    rng = np.random.default_rng(1)
    truth = np.array([2.0, *[0.02] * flows, 0.001, 0.001])
    terms = (
        Term(kind=Kind.IDLE),
        *(Term(kind=Kind.FLOW, name=f"f{i}", flow=f"f{i}") for i in range(flows)),
        *(Term(kind=Kind.CLASS, name=f"c{i}", flow=f"f{i}") for i in range(2)),
    )
    held = fixed = wrong = 0
    for _ in range(CAMPAIGNS):
        common, own = rng.uniform(50, 150, (points, 1)), rng.uniform(50, 150, (points, flows))
        rates = together * common + (1 - together) * own
        busy = rates[:, :2] * rng.uniform(5, 40, (points, 2))
        design = np.column_stack([np.ones(points), rates, busy])
        loads = design @ truth + rng.normal(0.0, noise, points)
        case = Case(
            broker="S0", resource="cpu", capacity=100, terms=terms, loads=loads, design=design
        )
        for right, found in zip(truth, fit_case(case).coefficients, strict=True):
            held += found.low <= right <= (np.inf if found.high is None else found.high)
            if found.identified and found.term.kind is not Kind.IDLE:
                fixed += 1
                wrong += abs(found.value / right - 1) > 0.5
    return np.array([held / (CAMPAIGNS * len(truth)), fixed, wrong])


def main() -> None:
    """Print both tables."""
    print(f"{CAMPAIGNS} campaigns of 8 tests, noise in percent points of the server")
    for noise in (NOISE, 3.0):
        high = paper_campaigns(*HIGH_ONLY, column=1, noise=noise)
        print(
            f"high rate only, noise {noise:g}: B up to {high.ratios.max():.1f} times the truth, ",
            end="",
        )
        print(f"taken for fixed in {high.fixed}")
    low = paper_campaigns(*LOW_ONLY, column=0)
    print(f"low rate only, noise {NOISE:g}: A negative without the bound in ", end="")
    print(f"{int((low.free < 0).sum())}, with it in {int((low.ratios < 0).sum())}, ", end="")
    print(f"taken for fixed in {low.fixed}")
    both = paper_campaigns(*BOTH, column=1)
    print(f"both corners, noise {NOISE:g}: B off by at most {np.abs(both.ratios - 1).max():.1%}")
    print()
    print(f"{CAMPAIGNS} campaigns of 40 windows, 9 terms: 95 % intervals that hold the truth,")
    print("coefficients taken for fixed (of 800), and how many of these are off by more than half")
    for together in (0.0, 0.8, 0.97):
        for noise in (0.2, 1.0, 3.0):
            share, fixed, wrong = coverage(together=together, noise=noise)
            print(
                f"rates {together:4.0%} together, noise {noise:g}: "
                f"{share:6.1%}  {fixed:4.0f}  {wrong:3.0f}"
            )


if __name__ == "__main__":
    main()
