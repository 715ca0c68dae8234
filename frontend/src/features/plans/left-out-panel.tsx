/** What was proposed and is not done, with the policy's reason for each. */
import { memo, useState } from "react";

import type { PlanDetail } from "@/api/plans";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Panel } from "@/components/ui/panel";
import { countText, fixed, rateText } from "@/lib/numbers";

type LeftOut = PlanDetail["left_out"][number];

const FIRST = 10;

const REASONS: Record<string, string> = {
  band: "within the band",
  reversal: "turns around",
  dwell: "changed lately",
  charge: "costs more than it gains",
  room: "no room",
  no_need: "not needed",
};

const figure = (row: LeftOut, value: number | null) =>
  value === null ? "no limit" : row.unit === "msg/s" ? rateText(value) : fixed(value);

const COLUMNS: Column<LeftOut>[] = [
  { key: "label", title: "Rate or limit", cell: (row) => <b>{row.label}</b> },
  { key: "before", title: "Stays at", number: true, cell: (row) => figure(row, row.before) },
  { key: "wanted", title: "Proposed", number: true, cell: (row) => figure(row, row.wanted) },
  { key: "unit", title: "Unit", cell: (row) => <span className="faint">{row.unit}</span> },
  { key: "reason", title: "Reason", cell: (row) => REASONS[row.reason] ?? row.reason },
  { key: "because", title: "In numbers", cell: (row) => <div className="said">{row.because}</div> },
];

export const LeftOutPanel = memo(function LeftOutPanel({ plan }: { plan: PlanDetail }) {
  const [all, setAll] = useState(false);
  const rows = plan.left_out;
  if (rows.length === 0) return null;
  return (
    <Panel
      title="Left out"
      sub={`${countText(rows.length, "proposed change")} that the policy does not enact`}
      flush
      footer={
        rows.length > FIRST && !all ? (
          <button type="button" className="link" onClick={() => setAll(true)}>
            Show all {countText(rows.length, "change")}
          </button>
        ) : undefined
      }
    >
      <DataTable
        label="Left out"
        tall
        columns={COLUMNS}
        rows={all ? rows : rows.slice(0, FIRST)}
        rowKey={(row) => `${row.kind} ${row.label}`}
      />
    </Panel>
  );
});
