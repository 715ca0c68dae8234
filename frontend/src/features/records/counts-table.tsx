/** What arrived of each table, and how much of it counts. */
import { TABLES } from "./words";

import type { TableCounts } from "@/api/records";
import { DataTable, type Column } from "@/components/ui/data-table";
import { countText, fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const COLUMNS: Column<TableCounts>[] = [
  { key: "table", title: "Table", cell: (row) => <b>{TABLES[row.table]}</b> },
  {
    key: "accepted",
    title: "Rows that count",
    number: true,
    strong: true,
    cell: (row) => fixed(row.accepted),
  },
  { key: "rows", title: "Rows sent", number: true, cell: (row) => fixed(row.rows) },
  { key: "batches", title: "Batches", number: true, cell: (row) => fixed(row.batches) },
  {
    key: "repeats",
    title: "Repeats",
    number: true,
    cell: (row) => (
      <span title="Batches that were sent again; each counts once.">{fixed(row.repeats)}</span>
    ),
  },
  {
    key: "latest",
    title: "Latest arrived",
    unit: "UTC",
    number: true,
    cell: (row) => <span title={exactTime(row.latest)}>{clockText(row.latest)}</span>,
  },
  {
    key: "sums",
    title: "In the sums",
    cell: (row) =>
      row.to_roll_up === 0 ? (
        <span className="faint">all</span>
      ) : (
        `${countText(row.to_roll_up, "batch", "batches")} not in the sums yet`
      ),
  },
];

export const CountsTable = ({ rows }: { rows: readonly TableCounts[] }) => (
  <DataTable label="What arrived" columns={COLUMNS} rows={rows} rowKey={(row) => row.table} />
);
