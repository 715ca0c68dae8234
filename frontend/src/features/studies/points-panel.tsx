/** Every answer as a row, with its CSV. */
import { useState } from "react";

import { change, compareBase, gapOf } from "./points";
import type { Spec } from "./spec";

import type { StudyPoint } from "@/api/studies";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { Panel } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { fixed, priceText, rateText, signed, UNKNOWN } from "@/lib/numbers";

const FIRST = 100;

export function PointsPanel({
  id,
  spec,
  points,
}: {
  id: string;
  spec: Spec;
  points: readonly StudyPoint[];
}) {
  const schedule = spec.kind === "schedule";
  const [all, setAll] = useState(false);
  const base = compareBase(spec, points);
  const shown = all ? points : points.slice(0, FIRST);
  const columns: Column<StudyPoint>[] = [
    {
      key: "label",
      title: schedule ? "Segment" : "Scenario",
      cell: (row) => <span className="ent">{row.label}</span>,
    },
    { key: "method", title: "Method", cell: (row) => row.method },
    {
      key: "status",
      title: "Answer",
      cell: (row) => (
        <span title={row.reason || undefined}>
          <StateBadge state={row.status} />
        </span>
      ),
    },
    {
      key: "utility",
      title: "Utility",
      number: true,
      strong: true,
      cell: (row) => fixed(row.utility, 1),
    },
    ...(schedule
      ? []
      : [
          {
            key: "change",
            title: "Against as is",
            unit: "%",
            number: true,
            cell: (row: StudyPoint) => {
              const value = change(row, base);
              return value === null ? UNKNOWN : signed(value * 100, 2);
            },
          },
        ]),
    {
      key: "gap",
      title: "Gap to bound",
      unit: "%",
      number: true,
      cell: (row) => (row.upper_bound === null ? UNKNOWN : gapOf(row)),
    },
    {
      key: "admitted",
      title: "Admitted",
      number: true,
      cell: (row) =>
        row.admitted === null ? UNKNOWN : `${fixed(row.admitted)} of ${fixed(row.wanted)}`,
    },
    {
      key: "rate",
      title: "Average rate",
      unit: "msg/s",
      number: true,
      cell: (row) => rateText(row.rate_average_per_s),
    },
    ...(schedule
      ? [
          {
            key: "moved",
            title: "Consumers moved",
            number: true,
            cell: (row: StudyPoint) => fixed(row.moved),
          },
        ]
      : []),
    {
      key: "price",
      title: "Scarcest, worth of one more unit",
      number: true,
      cell: (row) => {
        const first = row.prices[0];
        return first
          ? `${[first.id, first.resource].filter(Boolean).join(" ")} ${priceText(first.price)}`
          : UNKNOWN;
      },
    },
    { key: "iterations", title: "Iterations", number: true, cell: (row) => fixed(row.iterations) },
    {
      key: "took",
      title: "Took",
      number: true,
      cell: (row) => <UnitNumber as="duration" value={row.runtime_s} />,
    },
  ];
  const troubled = points.filter((point) => point.reason !== "" && point.utility === null);
  return (
    <Panel
      title="Answers"
      sub={`${fixed(points.length)}${troubled.length > 0 ? `, ${fixed(troubled.length)} without an answer` : ""}`}
      flush
      right={
        <a className="btn sm" href={`/api/v1/studies/${id}/points/csv`} download>
          <Icon name="download" small />
          CSV
        </a>
      }
      footer={
        points.length > FIRST ? (
          <button type="button" className="link" onClick={() => setAll((on) => !on)}>
            {all ? `Show the first ${FIRST}` : `Show all ${fixed(points.length)}`}
          </button>
        ) : undefined
      }
    >
      <DataTable
        label="Answers"
        columns={columns}
        rows={shown}
        rowKey={(row) => String(row.index)}
        keys
      />
    </Panel>
  );
}
