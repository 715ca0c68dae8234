/** The latest value of each line, beside the least and the greatest of the time shown. */
import { Stroke } from "./series-chart";
import type { Sums } from "./sums";
import { GROUPS, nameOf, scaleOf, type Scale } from "./words";

import { DataTable, type Column } from "@/components/ui/data-table";
import { UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

type Row = {
  index: number;
  name: string;
  latest: number | null;
  at: string | undefined;
  least: number | null;
  most: number | null;
};

const known = (values: readonly (number | null)[]) => values.filter((value) => value !== null);

/** The least and the greatest are of single samples, where these are known, and of steps otherwise. */
export function latestOf({ series, steps }: Sums): Row[] {
  return series.map(({ name, values, least, most }, index) => {
    const last = values.findLastIndex((value) => value !== null);
    const [low, high] = [known(least ?? values), known(most ?? values)];
    return {
      index,
      name,
      latest: values[last] ?? null,
      at: steps[last],
      least: low.length > 0 ? Math.min(...low) : null,
      most: high.length > 0 ? Math.max(...high) : null,
    };
  });
}

const columnsOf = (sums: Sums, scale: Scale): Column<Row>[] => [
  {
    key: "name",
    title: GROUPS[sums.by].label,
    cell: ({ index, name }) => (
      <span className="measuredname">
        <Stroke index={index} />
        <b className="clip" title={name}>
          {nameOf(name, sums.by)}
        </b>
      </span>
    ),
  },
  {
    key: "latest",
    title: "Latest",
    unit: scale.unit,
    number: true,
    strong: true,
    cell: ({ latest }) => scale.text(latest),
  },
  {
    key: "at",
    title: "Of the step from",
    unit: "UTC",
    number: true,
    cell: ({ at }) => (at ? <span title={exactTime(at)}>{clockText(at)}</span> : UNKNOWN),
  },
  {
    key: "least",
    title: "Least",
    unit: scale.unit,
    number: true,
    cell: ({ least }) => scale.text(least),
  },
  {
    key: "most",
    title: "Most",
    unit: scale.unit,
    number: true,
    cell: ({ most }) => scale.text(most),
  },
];

export const LatestTable = ({ sums }: { sums: Sums }) => (
  <DataTable
    label="Latest values"
    columns={columnsOf(sums, scaleOf(sums))}
    rows={latestOf(sums)}
    rowKey={({ name }) => name}
  />
);
