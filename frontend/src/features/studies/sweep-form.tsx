/** What a sweep varies: one quantity gives a line, two give a map. */
import { AxisRow, type Names } from "./axis-row";
import { axesOf, newAxis, type AxisDraft } from "./quantities";
import type { FieldError } from "./spec";

import { Icon } from "@/components/ui/icons";

const MOST_AXES = 2;
/** Two quantities multiply: fewer points of each keep the map readable. */
const STEPS_OF_TWO = 11;

export function SweepForm({
  axes,
  names,
  resources,
  errors,
  onChange,
}: {
  axes: readonly AxisDraft[];
  names: Names;
  resources: readonly string[];
  errors: readonly FieldError[];
  onChange: (axes: AxisDraft[]) => void;
}) {
  return (
    <div className="form">
      {axes.map((draft, index) => (
        <AxisRow
          key={index}
          draft={draft}
          index={index}
          place={axes.slice(0, index).reduce((sum, before) => sum + axesOf(before), 0)}
          names={names}
          resources={resources}
          errors={errors}
          onChange={(next) => onChange(axes.map((old, i) => (i === index ? next : old)))}
          onRemove={
            axes.length > 1 ? () => onChange(axes.filter((_, i) => i !== index)) : undefined
          }
        />
      ))}
      {axes.length < MOST_AXES ? (
        <span>
          <button
            type="button"
            className="btn sm"
            onClick={() =>
              onChange([
                ...axes.map((axis) => ({
                  ...axis,
                  steps: Number(axis.steps) > STEPS_OF_TWO ? String(STEPS_OF_TWO) : axis.steps,
                })),
                { ...newAxis("population", resources[0] ?? ""), steps: String(STEPS_OF_TWO) },
              ])
            }
          >
            <Icon name="plus" small />
            Vary a second quantity
          </button>
        </span>
      ) : null}
    </div>
  );
}
