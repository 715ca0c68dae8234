/** Utility over one varied quantity: the answers, their bound, and what one more unit is worth. */
import type { EChartsType } from "echarts/core";
import { useMemo, useRef } from "react";

import { ChartPicture, Key } from "./chart-picture";
import {
  atText,
  HEIGHT,
  optionOf,
  readingAt,
  stopsOf,
  xOf,
  type Frontier,
} from "./frontier-option";
import { asIs, change, compareBase, knee, linesOf, operatingPoint, worthAlong } from "./points";
import type { Axis, Spec, SweepSpec } from "./spec";

import type { StudyPoint } from "@/api/studies";
import { ChartPanel } from "@/components/ui/chart-frame";
import { countText, fixed, priceText, signed, UNKNOWN } from "@/lib/numbers";
import { useTheme } from "@/lib/theme";

/** What one unit of the axis is: of capacity, of money, a consumer. */
function unitOf({ edit }: Axis): string {
  switch (edit.kind) {
    case "population":
      return "consumer";
    case "budget":
      return edit.unit_costs ? "unit of money" : `${String(edit.resource)} unit/s`;
    case "node_capacity":
      return typeof edit.resource === "string" ? `${edit.resource} unit/s` : "unit/s";
    default:
      return "unit/s";
  }
}

export function FrontierPanel({
  spec,
  axis,
  points,
  other,
  name,
  running,
}: {
  spec: SweepSpec;
  axis: Axis;
  points: readonly StudyPoint[];
  /** Answers of another study with the same axis, to be held against these. */
  other: { name: string; spec: SweepSpec; points: readonly StudyPoint[] } | null;
  name: string;
  running: boolean;
}) {
  const theme = useTheme();
  const chart = useRef<EChartsType | null>(null);
  const unit = unitOf(axis);
  const frontier = useMemo<Frontier>(() => {
    const lines = linesOf(spec, points);
    return {
      axis,
      lines,
      others: other
        ? linesOf(other.spec, other.points).map((line) => ({
            ...line,
            label: `${other.name}, ${line.label}`,
          }))
        : [],
      base: [...asIs(points).values()].find((point) => point.utility !== null),
      worthUnit: `utility per ${unit}`,
    };
  }, [spec, axis, points, other, unit]);
  const option = useMemo(() => optionOf(frontier, theme), [frontier, theme]);
  const { lines } = frontier;
  const stops = stopsOf(frontier);
  const shown = lines.flatMap((line) => line.points);
  const worths = lines.map((line) => worthAlong(line.points));
  const from = worths.find((worth) => worth.from !== "none")?.from ?? "none";
  const done = shown.filter((point) => point.utility !== null).length;
  return (
    <ChartPanel
      title="Utility over the varied quantity"
      sub={`${countText(done, "answer")}${running ? " so far" : ""}; the utility axis does not start at 0`}
      right={
        <span className="legend">
          {lines.length === 1 ? <Key colour="var(--c1)">utility</Key> : null}
          {shown.some((point) => point.upper_bound !== null) ? (
            <Key colour="var(--crest)">upper bound</Key>
          ) : null}
          {from === "none" || lines.length > 1 ? null : (
            <Key colour="var(--price)">
              {from === "price" ? "worth of one more unit" : "gain between neighbours, per unit"}
            </Key>
          )}
          {other ? (
            <Key colour="var(--before)" dash="4 3">
              {other.name}
            </Key>
          ) : null}
        </span>
      }
      data={{
        name: `${name} frontier`,
        head: [
          "Line",
          axis.label,
          "Quantity",
          "Utility",
          "Upper bound",
          `Worth of one more ${unit}`,
        ],
        rows: lines.flatMap((line, index) =>
          line.points.map((point, at) => [
            line.label,
            xOf(axis)(point),
            point.quantities[0],
            point.utility,
            point.upper_bound,
            worths[index]?.values[at],
          ]),
        ),
      }}
      format={(cell, column) =>
        typeof cell !== "number"
          ? (cell ?? UNKNOWN)
          : column === 5
            ? priceText(cell)
            : fixed(cell, column === 3 || column === 4 ? 1 : cell % 1 ? 1 : 0)
      }
      svg={() => chart.current?.renderToSVGString() ?? null}
    >
      {shown.length === 0 ? (
        <p className="muted" style={{ height: HEIGHT }}>
          The line starts with the first answers.
        </p>
      ) : (
        <ChartPicture
          option={option}
          height={HEIGHT}
          label={`Utility over ${axis.label}, ${countText(done, "answer")}`}
          stops={stops}
          words={(stop) => readingAt(frontier, stops[stop] ?? NaN).join(". ")}
          onReady={(made) => {
            chart.current = made;
          }}
        />
      )}
      <Reading spec={spec} frontier={frontier} unit={unit} points={points} />
    </ChartPanel>
  );
}

/** What the picture says, in words: the worth of more now, and where it has halved. */
function Reading({
  spec,
  frontier,
  unit,
  points,
}: {
  spec: Spec;
  frontier: Frontier;
  unit: string;
  points: readonly StudyPoint[];
}) {
  const { axis, lines } = frontier;
  const [first] = lines;
  const now = operatingPoint(axis, frontier.base);
  const bend = first ? knee(first.points) : null;
  const gain = bend ? change(bend.point, compareBase(spec, points)) : null;
  const of = first && lines.length > 1 ? ` (${first.label})` : "";
  return (
    <>
      {typeof now?.price === "number" && now.quantity !== null ? (
        <p className="lead">
          As it is, at {fixed(now.quantity)}: one more {unit} is worth <b>{priceText(now.price)}</b>{" "}
          utility
          {now.price > 0
            ? `, one percent more ${signed(now.price * now.quantity * 0.01, 1)}`
            : ", capacity is left"}
          .
        </p>
      ) : null}
      {bend ? (
        <p className="lead">
          From {atText(axis, xOf(axis)(bend.point))} on{of}, one more {unit} is worth{" "}
          {priceText(bend.worth)}, half or less of its worth at the low end ({priceText(bend.first)}
          ). Utility there: {fixed(bend.point.utility, 1)}
          {gain === null ? "" : `, ${signed(gain * 100, 2)} % against the model as it is`}.
        </p>
      ) : null}
    </>
  );
}
