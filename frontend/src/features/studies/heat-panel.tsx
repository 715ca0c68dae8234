/** Two varied quantities: one cell per scenario, against the model as it is; arrow keys move. */
import { useMemo, useState } from "react";

import { change, compareBase, gapOf, heatStep } from "./points";
import type { Axis, Spec } from "./spec";

import type { StudyPoint } from "@/api/studies";
import { ChartPanel } from "@/components/ui/chart-frame";
import { Segments } from "@/components/ui/page";
import { fixed, priceText, signed, UNKNOWN } from "@/lib/numbers";

const valueText = (axis: Axis, value: number | string): string =>
  typeof value === "string"
    ? value
    : axis.field === "scale"
      ? `${fixed(value * 100, (value * 100) % 1 ? 1 : 0)} %`
      : fixed(value, value % 1 ? 2 : 0);

const percent = (value: number | null) =>
  value === null ? UNKNOWN : `${signed(value * 100, 2)} %`.replace("\u00b10 %", "\u00b10");

export function HeatPanel({
  spec,
  axes,
  methods,
  points,
  name,
}: {
  spec: Spec;
  axes: readonly [Axis, Axis];
  methods: readonly string[];
  points: readonly StudyPoint[];
  name: string;
}) {
  const [method, setMethod] = useState(methods[0] ?? "");
  const [cell, setCell] = useState<[number, number]>([0, 0]);
  const [across, up] = axes;
  const base = useMemo(() => compareBase(spec, points), [spec, points]);
  const byCell = useMemo(() => {
    const found = new Map<string, StudyPoint>();
    for (const point of points) {
      if (point.method === method && point.coordinates.length === 2) {
        found.set(JSON.stringify(point.coordinates), point);
      }
    }
    return found;
  }, [points, method]);
  const at = (column: number, row: number) =>
    byCell.get(JSON.stringify([across.values[column], up.values[row]]));
  const largest = Math.max(
    0,
    ...[...byCell.values()].map((point) => Math.abs(change(point, base) ?? 0)),
  );
  // The second quantity grows upwards, as on a chart.
  const rows = up.values.map((_, index) => up.values.length - 1 - index);
  const move = (event: React.KeyboardEvent) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[
      event.key
    ];
    if (!step) return;
    event.preventDefault();
    const clamp = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
    setCell(([column, row]) => [
      clamp(column + (step[0] ?? 0), across.values.length),
      clamp(row + (step[1] ?? 0), up.values.length),
    ]);
  };
  const chosen = at(...cell);
  const sentence = (point: StudyPoint | undefined, column: number, row: number) => {
    const where = `${across.label} ${valueText(across, across.values[column] ?? 0)}, ${up.label} ${valueText(up, up.values[row] ?? 0)}`;
    if (!point) return `${where}: not solved yet`;
    if (point.utility === null) return `${where}: ${point.status}. ${point.reason}`;
    return `${where}: utility ${fixed(point.utility, 1)}, ${percent(change(point, base))} against the model as it is`;
  };
  const columns = across.values.length;
  return (
    <ChartPanel
      title="Utility over both quantities"
      sub="change against the model as it is"
      right={
        methods.length > 1 ? (
          <Segments
            label="Method"
            value={method}
            options={methods.map((value) => ({ value, label: value }))}
            onChange={setMethod}
          />
        ) : undefined
      }
      data={{
        name: `${name} map`,
        head: ["Method", across.label, up.label, "Utility", "Change, %"],
        rows: [...byCell.values()].map((point) => [
          point.method,
          valueText(across, point.coordinates[0] as number | string),
          valueText(up, point.coordinates[1] as number | string),
          point.utility,
          change(point, base) === null ? null : (change(point, base) ?? 0) * 100,
        ]),
      }}
      format={(value, column) =>
        typeof value !== "number" ? (value ?? UNKNOWN) : fixed(value, column === 3 ? 1 : 2)
      }
    >
      <div className="heat">
        <span className="heaty">{up.label}</span>
        <div
          className="heatgrid"
          role="grid"
          tabIndex={0}
          aria-label={`Utility by ${across.label} and ${up.label}; arrow keys move`}
          aria-activedescendant={`heat-${cell[0]}-${cell[1]}`}
          onKeyDown={move}
          style={{ gridTemplateColumns: `auto repeat(${columns}, minmax(4px, 1fr))` }}
        >
          {rows.map((row) => (
            <div role="row" key={row} style={{ display: "contents" }}>
              <span role="rowheader" className="heatlabel">
                {valueText(up, up.values[row] ?? 0)}
              </span>
              {across.values.map((_, column) => {
                const point = at(column, row);
                const step = point ? heatStep(change(point, base), largest) : 0;
                const look = !point ? "wait" : point.utility === null ? "none" : `s${step}`;
                return (
                  <button
                    type="button"
                    key={column}
                    id={`heat-${column}-${row}`}
                    role="gridcell"
                    tabIndex={-1}
                    className={`heatcell ${look}`}
                    aria-label={sentence(point, column, row)}
                    aria-selected={cell[0] === column && cell[1] === row}
                    onMouseEnter={() => setCell([column, row])}
                    onClick={() => setCell([column, row])}
                  />
                );
              })}
            </div>
          ))}
          <div role="row" style={{ display: "contents" }}>
            <span role="rowheader" className="heatlabel" aria-label="Values" />
            {across.values.map((value, column) => (
              <span role="columnheader" className="heatlabel x" key={column}>
                {columns <= 12 || column % Math.ceil(columns / 8) === 0
                  ? valueText(across, value)
                  : ""}
              </span>
            ))}
          </div>
        </div>
        <span className="heatx">{across.label}</span>
      </div>
      <p className="lead" aria-live="polite">
        {sentence(chosen, ...cell)}
        {typeof chosen?.upper_bound === "number" ? `, gap to the bound ${gapOf(chosen)} %` : ""}
        {chosen?.prices[0]
          ? `. Scarcest: ${[chosen.prices[0].id, chosen.prices[0].resource].filter(Boolean).join(" ")}, one more unit is worth ${priceText(chosen.prices[0].price)}`
          : ""}
        .
      </p>
      <div className="legend" aria-label="Steps of the map">
        {[-5, -3, -1, 0, 1, 3, 5].map((step) => (
          <span key={step}>
            <i className={`heatcell s${step}`} aria-hidden="true" />
            {step === 0
              ? "as it is"
              : `${step < 0 ? "down" : "up"} to ${percent((step / 5) * largest)}`}
          </span>
        ))}
        <span>
          <i className="heatcell none" aria-hidden="true" />
          no answer
        </span>
      </div>
    </ChartPanel>
  );
}
