/** The pictures that suit what a study asks. */
import { FrontierPanel } from "./frontier-panel";
import { HeatPanel } from "./heat-panel";
import { ImpactPanel } from "./impact-panel";
import { asIs, methodsOf, viewOf } from "./points";
import { DayTotals, PopulationsOverTime, UtilityOverTime } from "./schedule-panels";
import type { Axis, Spec, SweepSpec } from "./spec";
import { DivisionPanel, WorthPanel } from "./worth-panel";

import type { StudyPoint } from "@/api/studies";

export type Other = { name: string; spec: SweepSpec; points: readonly StudyPoint[] } | null;

export function Pictures({
  spec,
  points,
  other,
  name,
  running,
}: {
  spec: Spec;
  points: StudyPoint[];
  other: Other;
  name: string;
  running: boolean;
}) {
  const methods = methodsOf(spec);
  if (spec.kind === "schedule") {
    const day = { spec, methods, points, name, running };
    return (
      <>
        <div className="stack wide2">
          <UtilityOverTime {...day} />
          <PopulationsOverTime {...day} />
        </div>
        <DayTotals {...day} />
      </>
    );
  }
  const view = viewOf(spec);
  const [first, second] = spec.axes;
  const base = asIs(points).get(methods[0] ?? "");
  if (view === "frontier" && first) {
    return (
      <div className="cols c-8-4">
        <div className="stack">
          <FrontierPanel
            spec={spec}
            axis={first}
            points={points}
            other={other && sameAxis(first, other.spec.axes[0]) ? other : null}
            name={name}
            running={running}
          />
        </div>
        <div className="stack">
          {first.edit.kind === "budget" ? (
            <DivisionPanel spec={spec} axis={first} points={points} base={base} name={name} />
          ) : null}
          <WorthPanel base={base} />
        </div>
      </div>
    );
  }
  if (view === "heat" && first && second) {
    const axes: [Axis, Axis] = [first, second];
    return (
      <div className="stack wide2">
        <HeatPanel spec={spec} axes={axes} methods={methods} points={points} name={name} />
        <ImpactPanel spec={spec} points={points} methods={methods} name={name} />
      </div>
    );
  }
  return (
    <div className="cols c-8-4">
      <ImpactPanel spec={spec} points={points} methods={methods} name={name} />
      <div className="stack">
        <WorthPanel base={base} />
      </div>
    </div>
  );
}

/** Curves of two studies share a picture where the same is varied. */
const sameAxis = (a: Axis, b: Axis | undefined): boolean =>
  a.label === b?.label && a.field === b.field;
