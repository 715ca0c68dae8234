/** The key figures of a study: as it is, the best, how far, how sure. */
import { answered, asIs, best, change, compareBase, methodsOf, widestGap } from "./points";
import type { Spec } from "./spec";

import type { StudyDetail, StudyPoint } from "@/api/studies";
import type { Figure } from "@/components/ui/figure-strip";
import { UnitNumber } from "@/components/ui/unit-number";
import { countText, fixed, gapPercent, signed, UNKNOWN } from "@/lib/numbers";
import { ageText } from "@/lib/time";

function took(study: StudyDetail): Figure {
  const seconds =
    study.started_at && study.finished_at
      ? (new Date(study.finished_at).getTime() - new Date(study.started_at).getTime()) / 1000
      : null;
  return seconds === null
    ? {
        label: "Running for",
        value: study.started_at ? ageText(study.started_at) : UNKNOWN,
        note: study.started_at ? "side by side on Spark" : "waits for a worker",
      }
    : {
        label: "Took",
        value: <UnitNumber value={seconds} as="duration" />,
        note: "side by side on Spark",
      };
}

export function figuresOf(study: StudyDetail, spec: Spec, points: readonly StudyPoint[]): Figure[] {
  const found = points.filter(answered);
  const base = asIs(points);
  const top = best(points);
  const gap = widestGap(points);
  const gain = top ? change(top, compareBase(spec, points)) : null;
  const first = base.get(methodsOf(spec)[0] ?? "");
  const without = points.length - found.length;
  const done = study.points_done === study.points_total;
  return [
    spec.kind === "sweep"
      ? {
          label: "Utility as it is",
          value: fixed(first?.utility, 1),
          note: first ? `with ${first.method}` : "not solved yet",
        }
      : {
          label: "Utility of the best segment",
          value: fixed(top?.utility, 1),
          note: top ? `${top.label}, ${top.method}` : "not solved yet",
        },
    spec.kind === "sweep"
      ? {
          label: "Best scenario",
          value: fixed(top?.utility, 1),
          note: top
            ? `${top.label}${gain === null ? "" : `, ${signed(gain * 100, 2)} %`}`
            : undefined,
          title: top?.label,
        }
      : {
          label: "Consumers moved in the day",
          value: fixed(
            points
              .filter((point) => point.method === methodsOf(spec)[0])
              .reduce((sum, point) => sum + (point.moved ?? 0), 0),
          ),
          note: `with ${methodsOf(spec)[0] ?? UNKNOWN}`,
        },
    {
      label: "Answers",
      value: fixed(study.points_done),
      unit: `of ${fixed(study.points_total)}`,
      note:
        without > 0
          ? `${countText(without, "scenario")} without an answer`
          : done
            ? "every one feasible"
            : "all feasible so far",
    },
    {
      label: "Widest gap to the bound",
      value: gapPercent(gap),
      unit: gap === null ? undefined : "%",
      note:
        gap !== null
          ? "of all answers"
          : done
            ? "these methods know no bound"
            : "no bound known yet",
    },
    took(study),
  ];
}
