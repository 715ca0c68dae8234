/** How far a run is and what it found, in figures: what its kind has of them. */
import type { RunDetail } from "@/api/runs";
import type { Figure } from "@/components/ui/figure-strip";
import type { Computation } from "@/lib/computations";
import { fixed } from "@/lib/numbers";

function limitOf(run: RunDetail): number | null {
  const given = run.parameters.max_iterations;
  return typeof given === "number" && given > 0 ? given : null;
}

/** From 0 to 1; null while it runs and nobody knows. */
export function shareOf(run: RunDetail, ended: boolean): number | null {
  const { done = 0, total, iteration } = run.progress;
  const limit = limitOf(run);
  if (ended) return 1;
  if (total) return done / total;
  if (limit !== null && iteration !== undefined) return Math.min(1, iteration / limit);
  return run.state === "queued" ? 0 : null;
}

function utilityNote(run: RunDetail, noun: string, ended: boolean): string {
  if (run.progress.best_utility === undefined) return "no iteration reported yet";
  if (run.state === "succeeded") return `best feasible ${noun} found`;
  if (ended) return `no ${noun} is kept of it`;
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun} of this worth is known`;
}

export function figuresOf(run: RunDetail, kind: Computation | undefined, ended: boolean): Figure[] {
  const { done, total, best_utility: best, iteration } = run.progress;
  if (total !== undefined) {
    const { label, note } = kind?.counted ?? { label: "Done", note: undefined };
    return [{ label, value: fixed(done), unit: `of ${fixed(total)}`, note }];
  }
  if (run.infeasibility && "shortages" in run.infeasibility) {
    const short = run.infeasibility.shortages.length;
    return [{ label: "Places short", value: fixed(short), note: "brokers' resources and links" }];
  }
  if (!kind?.converges) return [];
  const limit = limitOf(run);
  return [
    {
      label: run.state === "succeeded" ? "Utility" : "Best utility so far",
      value: fixed(best, 1),
      note: utilityNote(run, kind.noun, ended),
    },
    {
      label: "Iterations",
      value: fixed(iteration),
      unit: limit === null ? undefined : `of at most ${fixed(limit)}`,
      note: run.state === "running" ? "counting" : undefined,
    },
  ];
}
