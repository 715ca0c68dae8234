/** The coefficients of one broker and resource, each with its interval and whether to apply it. */
import { applicable, barScale, costText, termTitle, termUnit } from "./coefficients";
import { IntervalBar } from "./interval-bar";

import type { Coefficient, FitCase } from "@/api/calibration";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Badge } from "@/components/ui/state-badge";
import { relativeChange, significant, UNKNOWN } from "@/lib/numbers";

function Verdict({ row }: { row: Coefficient }) {
  if (row.applied) {
    return (
      <Badge tone="good" icon="check">
        Applied
      </Badge>
    );
  }
  if (row.identified) {
    return (
      <Badge tone="good" icon="check">
        Fixed
      </Badge>
    );
  }
  return (
    <Badge
      tone="warn"
      icon="alert"
      title={
        row.vif === null
          ? "The measurements cannot tell it from the other terms."
          : `The other terms make it ${significant(row.vif, 3)} times as uncertain.`
      }
    >
      {row.high === null ? "Unknown" : "Vague"}
    </Badge>
  );
}

export function CoefficientTable({
  one,
  chosen,
  toggle,
}: {
  one: FitCase;
  chosen: ReadonlySet<string>;
  /** Absent: nothing can be chosen. */
  toggle?: (id: string) => void;
}) {
  const choose: Column<Coefficient> = {
    key: "choose",
    title: "Apply",
    cell: (row) =>
      applicable(row) ? (
        <input
          type="checkbox"
          aria-label={`Apply ${termTitle(row)} at ${one.broker}`}
          checked={chosen.has(row.id)}
          onChange={() => toggle?.(row.id)}
        />
      ) : null,
  };
  const columns: Column<Coefficient>[] = [
    ...(toggle ? [choose] : []),
    { key: "name", title: "Term", cell: (row) => <b>{termTitle(row)}</b> },
    {
      key: "unit",
      title: "Work",
      cell: (row) => <span className="faint">{termUnit(row, one.resource)}</span>,
    },
    { key: "old", title: "In the model", number: true, cell: (row) => costText(row.old) },
    {
      key: "value",
      title: "Fitted",
      number: true,
      strong: true,
      cell: (row) => costText(row.value),
    },
    {
      key: "change",
      title: "Change",
      number: true,
      // What nothing bounds has no change worth a number.
      cell: (row) => (row.high === null ? UNKNOWN : relativeChange(row.value, row.old)),
    },
    {
      key: "interval",
      title: "Interval",
      cell: (row) => (
        <IntervalBar
          value={row.value}
          low={row.low}
          high={row.high}
          old={row.old}
          scale={barScale(one, row.kind)}
        />
      ),
    },
    { key: "verdict", title: "Measured", cell: (row) => <Verdict row={row} /> },
  ];
  return (
    <DataTable
      label={`Coefficients of ${one.broker}, ${one.resource}`}
      columns={columns}
      rows={one.coefficients}
      rowKey={(row) => row.id}
    />
  );
}
