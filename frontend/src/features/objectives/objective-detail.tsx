/** One objective: what its budget comes to, how fast it burns, and its values minute by minute. */
import { useQuery } from "@tanstack/react-query";

import { MinutesChart } from "./minutes-chart";
import { budgetText, doubts, rateOfBurn, stretchText } from "@/components/ui/objective-words";

import { sloMinutesQuery, type Burn, type SloCompliance } from "@/api/objectives";
import { DataTable, type Column } from "@/components/ui/data-table";
import { FigureStrip } from "@/components/ui/figure-strip";
import { QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { countText, fixed, percentText } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const ALERTS: Column<Burn>[] = [
  {
    key: "severity",
    title: "Alert",
    cell: ({ severity }) => (severity === "page" ? "Look now" : "Look within days"),
  },
  { key: "over", title: "Over", cell: (burn) => stretchText(burn) },
  {
    key: "burns",
    title: "Burns",
    number: true,
    strong: true,
    cell: ({ long_burn, short_burn }) => `${rateOfBurn(long_burn)} and ${rateOfBurn(short_burn)}`,
  },
  {
    key: "threshold",
    title: "Above",
    number: true,
    cell: ({ threshold }) => rateOfBurn(threshold),
  },
  {
    key: "state",
    title: "State",
    cell: ({ fires, can_fire: canFire }) =>
      fires ? (
        <Badge tone="bad" icon="flame">
          Fires
        </Badge>
      ) : canFire ? (
        <span className="faint">quiet</span>
      ) : (
        <span className="faint" title="The budget is too large to burn that fast.">
          cannot fire
        </span>
      ),
  },
];

export function ObjectiveDetail({ row }: { row: SloCompliance }) {
  const minutes = useQuery(sloMinutesQuery(row.system, row.id));
  if (row.since === null || row.measured_minutes === 0) {
    return (
      <p className="note">
        {row.since === null
          ? "The budget begins with the first whole minute after the last edit."
          : "Nothing was measured since the window began. Agents measure rates and losses, and how long messages wait at the gate; delays of deliveries come as records."}
      </p>
    );
  }
  return (
    <div className="objective">
      <FigureStrip
        figures={[
          {
            label: "Held in",
            value: percentText(row.share_held, 2),
            note: `of ${countText(row.measured_minutes, "measured minute")}`,
          },
          {
            label: "Missed",
            value: fixed(row.missed_minutes),
            unit: "min",
            note: `${fixed(row.budget_minutes, 1)} min may be missed`,
          },
          { label: "Budget left", value: budgetText(row.budget_left) },
          {
            label: "Since",
            value: clockText(row.since),
            title: exactTime(row.since),
            note: "an edit of the promise begins a new budget",
          },
        ]}
      />
      {doubts(row).map((sentence) => (
        <p key={sentence} className="note">
          {sentence}
        </p>
      ))}
      <DataTable
        label={`Alerts of ${row.name}`}
        columns={ALERTS}
        rows={row.burns}
        rowKey={({ threshold }) => String(threshold)}
      />
      <QueryBody query={minutes} what="The minutes" rows={5}>
        {(data) => <MinutesChart row={row} minutes={data} />}
      </QueryBody>
    </div>
  );
}
