/** The fits of a system; one is shown below. */
import type { Fit } from "@/api/calibration";
import { DataTable, type Column } from "@/components/ui/data-table";
import { StateBadge } from "@/components/ui/state-badge";
import { fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const COLUMNS: Column<Fit>[] = [
  { key: "name", title: "Fit", cell: (row) => <b>{row.name}</b> },
  { key: "state", title: "State", cell: (row) => <StateBadge state={row.state} /> },
  {
    key: "fixed",
    title: "Fixed",
    number: true,
    strong: true,
    cell: (row) => fixed(row.identified_count),
  },
  { key: "of", title: "Of", number: true, cell: (row) => fixed(row.coefficient_count) },
  { key: "applied", title: "Applied", number: true, cell: (row) => fixed(row.applied_count) },
  {
    key: "until",
    title: "Measured until",
    unit: "UTC",
    number: true,
    cell: (row) => <span title={exactTime(row.until)}>{clockText(row.until)}</span>,
  },
];

export function FitsTable({
  fits,
  picked,
  onPick,
}: {
  fits: readonly Fit[];
  picked: string | null;
  onPick: (id: string) => void;
}) {
  return (
    <DataTable
      label="Fits"
      columns={COLUMNS}
      rows={fits}
      rowKey={(row) => row.id}
      selected={picked}
      onSelect={(row) => onPick(row.id)}
      keys
    />
  );
}
