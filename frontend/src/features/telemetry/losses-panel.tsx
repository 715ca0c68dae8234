/** What was taken from a publisher and did not get further: how much, where and why. */
import { useQuery } from "@tanstack/react-query";

import { lossesQuery, type Loss } from "@/api/telemetry";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { countText, fixed } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const ago = (at: string) => (
  <span className="faint" title={exactTime(at)}>
    {ageText(at)} ago
  </span>
);

const COLUMNS: Column<Loss>[] = [
  {
    key: "flow",
    title: "Flow",
    cell: (loss) => (loss.flow ? <b>{loss.flow}</b> : <span className="faint">not known</span>),
  },
  { key: "broker", title: "Lost at", cell: (loss) => loss.broker_name },
  { key: "why", title: "Why", cell: (loss) => <div className="said">{loss.explanation}</div> },
  {
    key: "count",
    title: "Lost",
    unit: "msg",
    number: true,
    strong: true,
    cell: (loss) => fixed(loss.count),
  },
  { key: "first", title: "First", number: true, cell: (loss) => ago(loss.first_at) },
  { key: "last", title: "Last", number: true, cell: (loss) => ago(loss.last_at) },
];

export function LossesPanel({ system }: { system: string }) {
  const losses = useQuery(lossesQuery(system));
  const all = (losses.data ?? []).reduce((sum, loss) => sum + loss.count, 0);
  return (
    <Panel
      title="Lost"
      sub="accepted but not delivered (lower bound)"
      right={
        all > 0 ? (
          <Badge tone="bad" icon="alert">
            {countText(all, "message")}
          </Badge>
        ) : null
      }
      flush
    >
      <QueryBody query={losses} what="What was lost" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>No agent has reported a lost message.</Empty>
          ) : (
            <DataTable
              label="Lost messages"
              tall
              columns={COLUMNS}
              rows={rows}
              rowKey={(loss) => `${loss.broker} ${loss.flow} ${loss.reason}`}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
