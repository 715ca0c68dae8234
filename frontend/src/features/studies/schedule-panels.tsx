/** A day: what each method reached over time and in all; whom one of them admitted. */
import type { EChartsType } from "echarts/core";
import { useMemo, useRef, useState } from "react";

import { ChartPicture, Key } from "./chart-picture";
import {
  HEIGHT,
  middles,
  populationAt,
  populationOption,
  shortText,
  utilityAt,
  utilityOption,
} from "./day-option";
import { bySegment, dayTotals, shortfall, targets, type Day, type DayTotal } from "./day-points";
import { stackOf } from "./points";

import { ChartPanel } from "@/components/ui/chart-frame";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Segments } from "@/components/ui/page";
import { Panel } from "@/components/ui/panel";
import { UnitNumber } from "@/components/ui/unit-number";
import { countText, fixed, signed, UNKNOWN } from "@/lib/numbers";
import { useTheme } from "@/lib/theme";

const seriesColour = (index: number) => `var(--c${(index % 6) + 1})`;

export function UtilityOverTime(day: Day) {
  const theme = useTheme();
  const chart = useRef<EChartsType | null>(null);
  const { spec, methods, points, name, running } = day;
  const option = useMemo(
    () => utilityOption({ spec, methods, points, name, running }, theme),
    [spec, methods, points, name, running, theme],
  );
  const aims = targets(day);
  const bounded = points.some((point) => point.upper_bound !== null);
  return (
    <ChartPanel
      title="Methods through the day"
      sub={`hours since its start${running ? ", so far" : ""}`}
      right={
        <span className="legend">
          {methods.map((method, index) => (
            <Key key={method} colour={seriesColour(index)}>
              {method}
            </Key>
          ))}
          {bounded ? <Key colour="var(--crest)">lowest bound</Key> : null}
        </span>
      }
      data={{
        name: `${name} utility`,
        head: ["Segment", "Method", "Utility", "Upper bound", "Short, %", "Consumers moved"],
        rows: methods.flatMap((method) =>
          bySegment(day, method).map((point, index) => [
            spec.segments[index]?.label,
            method,
            point?.utility,
            point?.upper_bound,
            shortfall(point, aims[index] ?? null),
            point?.moved,
          ]),
        ),
      }}
      format={(cell, column) =>
        typeof cell !== "number"
          ? (cell ?? UNKNOWN)
          : column === 4
            ? shortText(cell)
            : fixed(cell, column === 5 ? 0 : 1)
      }
      svg={() => chart.current?.renderToSVGString() ?? null}
    >
      <ChartPicture
        option={option}
        height={HEIGHT}
        label={`Utility through ${countText(spec.segments.length, "segment")} by ${methods.join(", ")}`}
        stops={middles(day)}
        words={(stop) => utilityAt(day, stop).join(". ")}
        onReady={(made) => {
          chart.current = made;
        }}
      />
    </ChartPanel>
  );
}

export function PopulationsOverTime(day: Day) {
  const theme = useTheme();
  const chart = useRef<EChartsType | null>(null);
  const { spec, methods, points, name, running } = day;
  const [method, setMethod] = useState(methods[0] ?? "");
  const option = useMemo(
    () => populationOption({ spec, methods, points, name, running }, method, theme),
    [spec, methods, points, name, running, method, theme],
  );
  const groups = spec.groups.map((group) => group.name);
  return (
    <ChartPanel
      title="Admitted consumers by group"
      sub="stacked; average flow rate on the right axis"
      right={
        <>
          <span className="legend">
            {groups.map((group, index) => (
              <Key key={group} colour={seriesColour(index)} block>
                {group}
              </Key>
            ))}
            <Key colour="var(--crest)">average rate</Key>
          </span>
          {methods.length > 1 ? (
            <Segments
              label="Method"
              value={method}
              options={methods.map((value) => ({ value, label: value }))}
              onChange={setMethod}
            />
          ) : null}
        </>
      }
      data={{
        name: `${name} populations`,
        head: ["Segment", "Method", ...groups, "Average rate, msg/s"],
        rows: bySegment(day, method).map((point, index) => [
          spec.segments[index]?.label,
          method,
          ...groups.map((group) => (point === null ? null : stackOf(point, group, "admitted"))),
          point?.rate_average_per_s,
        ]),
      }}
      format={(cell, column) =>
        typeof cell !== "number"
          ? (cell ?? UNKNOWN)
          : fixed(cell, column === groups.length + 2 ? 2 : 0)
      }
      svg={() => chart.current?.renderToSVGString() ?? null}
    >
      <ChartPicture
        option={option}
        height={HEIGHT}
        label={`Admitted consumers of ${groups.join(", ")} in ${countText(spec.segments.length, "segment")}, method ${method}`}
        stops={spec.segments.map((_, index) => index)}
        words={(stop) => populationAt(day, method, stop).join(". ")}
        onReady={(made) => {
          chart.current = made;
        }}
      />
    </ChartPanel>
  );
}

/** The whole day of each method in a row: what it was worth, how far from the bound, how restless. */
export function DayTotals(day: Day) {
  const totals = dayTotals(day);
  const best = Math.max(...totals.flatMap((total) => total.utility ?? []));
  const bounded = day.points.some((point) => point.upper_bound !== null);
  const columns: Column<DayTotal>[] = [
    { key: "method", title: "Method", cell: (row) => <span className="ent">{row.method}</span> },
    {
      key: "utility",
      title: "Mean utility over the day",
      number: true,
      strong: true,
      cell: (row) => (row.utility === null ? UNKNOWN : fixed(row.utility, 1)),
    },
    {
      key: "against",
      title: "Against the best",
      unit: "%",
      number: true,
      cell: (row) =>
        row.utility === null || best === 0
          ? UNKNOWN
          : row.utility === best
            ? "best"
            : signed(((row.utility - best) / Math.abs(best)) * 100, 4),
    },
    {
      key: "worst",
      title: bounded ? "Worst segment, short of the bound" : "Worst segment, short of the best",
      unit: "%",
      number: true,
      cell: (row) => shortText(row.worst),
    },
    { key: "moved", title: "Consumers moved", number: true, cell: (row) => fixed(row.moved) },
    {
      key: "took",
      title: "Computing",
      number: true,
      cell: (row) => <UnitNumber as="duration" value={row.runtime} />,
    },
    {
      key: "solved",
      title: "Segments solved",
      number: true,
      cell: (row) => `${fixed(row.solved)} of ${fixed(day.spec.segments.length)}`,
    },
  ];
  return (
    <Panel title="The whole day" sub="weighted by how long each segment lasts" flush>
      <DataTable
        label="The whole day by method"
        columns={columns}
        rows={totals}
        rowKey={(row) => row.method}
      />
    </Panel>
  );
}
