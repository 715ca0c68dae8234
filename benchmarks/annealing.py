"""What the start temperature alone does to simulated annealing on the paper's base workload.

    python -m benchmarks.annealing [FOLDER]

Prints the ratio to the integral optimum by start temperature and steps, the published figures
beside it, and LRGP in the same run; with a folder it also draws `annealing.png` there.
Everything else is the paper's: x 0.999 per round until temperature 1.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from weir.codec import problem_from_json
from weir.optimizers import annealing, lrgp
from weir.stop import never

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "lrgp"
NAME = "log-6-flows-3-nodes"
TEMPERATURES = (5.0, 10.0, 50.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e5, 1e6)
PUBLISHED_TEMPERATURES = TEMPERATURES[:4]
STEPS = (10**5, 10**6, 10**7)
SEEDS = 3
PUBLISHED = 1_248_063
"""Best of the published runs: start temperature 5, 10^8 steps, 23 minutes."""


def main(folder: Path | None) -> None:
    """Print the table and, if asked, draw it."""
    problem = problem_from_json((GOLDEN / f"{NAME}.json").read_bytes())
    optimum = json.loads((GOLDEN / "expected.json").read_text())[NAME]["integral_optimum"]
    begun = time.perf_counter()
    ours = lrgp.solve(problem, lrgp.Params(), stop=never, seed=0).utility / optimum
    lrgp_s = time.perf_counter() - begun
    print(f"published annealing {PUBLISHED / optimum:.5f}; LRGP {ours:.5f} in {lrgp_s:.2f} s")
    print(f"ratio to the optimum, worst to best of {SEEDS} seeds; seconds of one run")
    curves: dict[int, list[list[float]]] = {}
    for steps in STEPS:
        curves[steps] = []
        for temperature in TEMPERATURES:
            begun = time.perf_counter()
            params = annealing.Params(start_temperature=temperature, steps=steps)
            found = sorted(
                annealing.solve(problem, params, stop=never, seed=seed).utility / optimum
                for seed in range(SEEDS)
            )
            took_s = (time.perf_counter() - begun) / SEEDS
            curves[steps].append(found)
            print(
                f"{steps:12,} steps, start {temperature:11,.0f}: "
                f"{found[0]:.5f} to {found[-1]:.5f} {took_s:8.2f} s"
            )
    if folder is not None:
        draw(curves, PUBLISHED / optimum, folder / "annealing.png")


def draw(curves: dict[int, list[list[float]]], published: float, path: Path) -> None:
    """Distance to the optimum over the start temperature, one line per number of steps."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    for steps, color in zip(STEPS, ("#9db4c9", "#4f7ea8", "#0f3f66"), strict=True):
        middle = [1.0 - found[SEEDS // 2] for found in curves[steps]]
        axes.plot(
            TEMPERATURES,
            [max(gap, 1e-6) for gap in middle],
            marker="o",
            color=color,
            label=f"{steps:,} steps",
        )
    axes.axvspan(
        PUBLISHED_TEMPERATURES[0], PUBLISHED_TEMPERATURES[-1], color="#d9a441", alpha=0.2, lw=0
    )
    axes.axhline(1.0 - published, color="#b3541e", ls="--", lw=1)
    axes.annotate("published, 10⁸ steps", (2e4, (1.0 - published) * 1.15), color="#b3541e")
    axes.annotate("published\nstarts", (5.6, 2e-5), color="#8a6414")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="start temperature (units of utility)",
        ylabel="share of the optimum missing",
        title="Annealing on the base workload: only the start temperature differs",
    )
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(loc="upper right")
    figure.savefig(path, dpi=120)
    print(f"drawn: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
